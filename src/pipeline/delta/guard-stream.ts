import type { Transaction } from 'kysely'
import { anyLivingRow, approvedEmpty, leavePlan, livingRows, supersedePlans } from '../../db/guard/guard-plan.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Deps } from '../deps.ts'
import { judgeChange, total } from './judge-change.ts'
import { examplesOfChange, type WouldChange } from './landing/land-rows.ts'

/** Rows that a plan shows, of which a person recognises the mistake, or that there is none. */
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
  const change = {
    would,
    empty: isEmpty,
    known: await livingRows(trx, stream),
    approvedEmpty: isEmpty ? await approvedEmpty(trx, stream) : null,
  }
  const reason = judgeChange(guard, change)
  if (reason === null) return false
  const plan = { run_id: runId, stream, reason, known: change.known, ...would }
  await leavePlan(trx, plan, await examplesOfChange(trx, examplesShown))
  deps.logger.warn(plan, 'stream_held')
  return true
}
