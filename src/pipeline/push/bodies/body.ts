import type { Contract } from '../../../exchange/contract.ts'
import type { ReferenceIndex } from '../../streams/rules/reference-index.ts'

/** A ledger row on its way out. */
export type OutgoingRow = { stream: string; partner_id: string; content: Readonly<Record<string, unknown>> }

export type BodyContext = {
  contract: Contract
  reference: ReferenceIndex
  customIdentifierId: string
  groupId: string | null
  /** What this kind keeps its requests apart by; see the kind. */
  partition: string
}

/**
 * Writes one request's body, piece by piece, from rows that come ordered by partner id. Between two pieces it takes at
 * most the rows of one property and the first row of the next, because no more may be in memory (stream-body.ts).
 */
export type BodyWriter = (rows: Iterable<OutgoingRow>, context: BodyContext) => Generator<string>

/** A JSON object whose last member is a list, written one element at a time. */
export function* objectWithList(head: object, list: string, elements: Iterable<object>): Generator<string> {
  const start = JSON.stringify(head).slice(0, -1)
  yield `${start}${start === '{' ? '' : ','}${JSON.stringify(list)}:[`
  let separator = ''
  for (const element of elements) {
    yield separator + JSON.stringify(element)
    separator = ','
  }
  yield ']}'
}

/** Rows of one property together, as long as they come in order. */
export function* byPartner(rows: Iterable<OutgoingRow>): Generator<[partnerId: string, rows: OutgoingRow[]]> {
  let partnerId: string | null = null
  let group: OutgoingRow[] = []
  for (const row of rows) {
    if (partnerId !== null && row.partner_id !== partnerId) {
      yield [partnerId, group]
      group = []
    }
    partnerId = row.partner_id
    group.push(row)
  }
  if (partnerId !== null) yield [partnerId, group]
}

/** Members whose value is known; absent details are left out, never sent empty. */
export function withoutAbsent(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined))
}
