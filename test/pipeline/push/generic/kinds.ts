import { type GenericKind, genericKinds } from '../../../../src/exchange/generic-kinds.ts'
import type { BodyContext } from '../../../../src/pipeline/push/bodies.ts'
import { genericKind } from '../../../../src/pipeline/push/kinds.ts'
import { contract } from '../../../exchange/test-client.ts'
import { ids, reference } from '../rows.ts'

/** A kind as a contract file would describe it, with the parts that a test is about. */
export function described(parts: Record<string, unknown>): GenericKind {
  const kind = {
    endpoint: { method: 'POST', path: '/things', source: 'assumed' },
    taskName: { kind: 'BulkProcessingRequest', requestType: 'BulkUpsertThings', source: 'assumed' },
    stream: 'things',
    columns: ['partner_id', 'a', 'b', 'c'],
    body: { list: 'items', element: { id: { $column: 'partner_id' } } },
    outcomes: 'error_rows',
    ...parts,
  }
  const [only] = genericKinds.parse({ things: kind })
  if (only === undefined) throw new Error('the contract describes no kind')
  return only
}

export type Content = Record<string, unknown>

/** The body of a request with these rows. */
export function bodyOf(
  kind: GenericKind,
  rows: readonly (readonly [string, Content])[],
  some: Partial<BodyContext> = {},
) {
  const context = {
    contract,
    reference,
    customIdentifierId: ids.identifier,
    groupId: ids.group,
    partition: '',
    ...some,
  }
  const outgoing = rows.map(([partner_id, content]) => ({ stream: kind.stream, partner_id, content }))
  return [...genericKind(kind).writeBody(outgoing, context)].join('')
}
