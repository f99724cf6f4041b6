import type { Config } from '../../config/schema.ts'
import type { WouldChange } from './landing/land-rows.ts'

type Change = {
  would: WouldChange
  /** The partner yields no row of the stream at all. */
  empty: boolean
  /** Rows of the stream that are known and not gone. */
  known: number
  /** How many were known when a person approved that the source is empty. */
  approvedEmpty: number | null
}

/**
 * Whether a person has to look before anything is sent, and why. Pure.
 *
 * The service has no delete, so what a mistake sends there stays: a query that lost its `where`, a key that is written
 * differently, a table that is being filled again. New rows count like changed ones, because a new way to write
 * the key makes every row new. The first rows of a stream are all new and never held.
 */
export function judgeChange(guard: Config['guard'], change: Change): 'share' | 'empty' | null {
  const { would, empty, known, approvedEmpty } = change
  if (known === 0 && would.gone === 0) return null
  if (empty && known !== approvedEmpty) return 'empty'
  const rows = total(would)
  return rows >= guard.minRows && rows > guard.maxChangedShare * known ? 'share' : null
}

export function total(would: WouldChange): number {
  return would.new + would.changed + would.gone
}
