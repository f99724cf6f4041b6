import { createHash } from 'node:crypto'
import { type LandingRow, maxPartnerIdLength, type PartnerRow } from '../streams/row-key.ts'
import type { StreamShape } from '../streams/stream.ts'

/** The ledger row that a partner row's values describe, with keys as they can be stored. */
export function landingOf({ columns, toRow }: StreamShape, values: readonly (string | null)[]): LandingRow {
  const row: PartnerRow = {}
  for (const [index, column] of columns.entries()) row[column] = values[index] ?? null
  const { partnerId, rowKey, content } = toRow(row, row.partner_id ?? '')
  return { partnerId: indexable(partnerId), rowKey: indexable(rowKey), content }
}

/** Bytes of a key that an index of Postgres surely takes; its limit is about 2,700 for the columns together. */
const maxKeyBytes = 1_000

/** A key as it can be stored: of an absurdly long one the beginning and a digest. Preflight refuses it. */
function indexable(text: string): string {
  if (Buffer.byteLength(text) <= maxKeyBytes) return text
  return `${text.slice(0, maxPartnerIdLength + 1)}…${createHash('sha256').update(text).digest('hex')}`
}
