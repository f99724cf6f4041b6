import type { GenericKind } from '../../../exchange/generic-kinds.ts'
import { type Filling, fillTemplate } from '../../preflight/generic/fill-template.ts'
import { text } from '../../streams/rules/row-content.ts'
import { type BodyContext, type BodyWriter, byPartner, type OutgoingRow, objectWithList } from '../bodies/body.ts'

/** Writes the bodies of a kind from its template: the head once, then one element per row, or one per property. */
export function templateWriter(kind: GenericKind): BodyWriter {
  return function* (rows, context) {
    const { head, list } = kind.body
    // Of the columns the head may contain only the one that requests are kept apart by.
    const filling = { ...settings(context), column: () => (context.partition === '' ? null : context.partition) }
    yield* objectWithList(objectOf(fillTemplate(head, filling)), list, elements(kind, rows, context))
  }
}

function* elements({ body, partnerId }: GenericKind, rows: Iterable<OutgoingRow>, context: BodyContext) {
  const fillingOf = (row: OutgoingRow): Filling => ({
    ...settings(context),
    column: (name) => (name === partnerId ? row.partner_id : text(row.content, name)),
  })
  const { inner } = body
  if (inner === null) {
    for (const row of rows) yield objectOf(fillTemplate(body.element, fillingOf(row)))
    return
  }
  for (const [, group] of byPartner(rows)) {
    // What stands beside the inner list is the same for every row of the property.
    const [first] = group
    if (first === undefined) continue
    yield {
      ...objectOf(fillTemplate(body.element, fillingOf(first))),
      [inner.list]: group.map((row) => objectOf(fillTemplate(inner.element, fillingOf(row)))),
    }
  }
}

function settings({ customIdentifierId, groupId }: BodyContext): Pick<Filling, 'setting'> {
  return { setting: (name) => ({ customIdentifierId, groupId })[name] }
}

/** An element stays one although nothing of it is known. */
function objectOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
