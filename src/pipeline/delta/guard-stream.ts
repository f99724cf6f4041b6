import type { Transaction } from 'kysely'
import type { Config } from '../../config/schema.ts'
import { anyLivingRow, leavePlan, livingRows, supersedePlans } from '../../db/guard/guard-plan.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Deps } from '../deps.ts'
import { examplesOfChange, type WouldChange } from './landing/land-rows.ts'

/** How many rows a plan shows: enough for a person to recognise a mistake, or to see that there is none. */
const examplesShown = 5

/**
 * Judges what a stream's rows would change, once they are compared and before they land. If a person has to look,
 * leaves a plan in the landing's transaction: there are no held rows without their plan.
 *
 * @param empty asks whether the partner has no row of the stream at all.
 * @returns whether the rows are held.
 */
export async function guardStream(
  deps: Deps,
  trx: Transaction<Schema>,
  runId: number,
  stream: string,
  would: WouldChange,
  empty: () => Promise<boolean>,
): Promise<boolean> {
  const { guard } = deps.config
  await supersedePlans(trx, stream)
  const isEmpty = (await anyLivingRow(trx, stream)) && (await empty())
  // Counting a large stream takes a moment. Most nights there is nothing to compare the count with, or so few rows
  // would change that counting can stop early.
  if (!isEmpty && total(would) < guard.minRows) return false
  const enough = Math.ceil(total(would) / guard.maxChangedShare)
  if (!isEmpty && Number.isSafeInteger(enough) && (await livingRows(trx, stream, enough)) >= enough) return false
  const change = { would, empty: isEmpty, known: await livingRows(trx, stream) }
  const reason = judgeChange(guard, change)
  if (reason === null) return false
  const plan = { run_id: runId, stream, reason, known: change.known, ...would }
  await leavePlan(trx, plan, await examplesOfChange(trx, examplesShown))
  deps.logger.warn(plan, 'stream_held')
  return true
}

type Change = {
  would: WouldChange
  /** The partner yields no row of the stream at all. */
  empty: boolean
  /** Rows of the stream that are known and not gone. */
  known: number
}

/**
 * Whether a person has to look before anything is sent, and why. Pure.
 *
 * The service has no delete, so what a mistake sends there stays: a query that lost its `where`, a key that is written
 * differently, a table that is being filled again. New rows count like changed ones, because a new way to write
 * the key makes every row new. The first rows of a stream are all new and never held. Of a source that is rightly empty
 * nothing is known any more once a person has approved that.
 */
export function judgeChange(guard: Config['guard'], change: Change): 'share' | 'empty' | null {
  const { would, empty, known } = change
  if (known === 0 && would.gone === 0) return null
  if (empty) return 'empty'
  const rows = total(would)
  return rows >= guard.minRows && rows > guard.maxChangedShare * known ? 'share' : null
}

function total(would: WouldChange): number {
  return would.new + would.changed + would.gone
}
