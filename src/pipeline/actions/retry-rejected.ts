import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import type { RowFilter } from '../../db/ledger/row-state.ts'
import { markForRetry, type RetryCounts } from '../../db/ledger/rows-again.ts'
import type { Deps } from '../deps.ts'

/**
 * Marks rows that the service rejected, to be sent again as they are by the next run, once. Nothing is written where
 * nothing was rejected.
 * @returns how many rows of each stream were marked.
 */
export async function retryRejected(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  filter: RowFilter,
  actor: Actor,
): Promise<RetryCounts[]> {
  const { since, ...texts } = filter
  const asked = { ...texts, ...(since !== undefined && { since: since.toISOString() }) }
  return await db.transaction().execute(async (trx) => {
    const actionId = await recordAction(trx, { verb: 'retry', actor, at: now(), rows: 0, asked })
    const counts = await markForRetry(trx, actionId, filter)
    const rows = counts.reduce((sum, stream) => sum + stream.rows, 0)
    if (rows === 0) await trx.deleteFrom('action').where('action_id', '=', actionId).execute()
    else {
      const result = `${rows} marked; the next run sends them again`
      await trx.updateTable('action').set({ rows, result }).where('action_id', '=', actionId).execute()
    }
    return counts
  })
}
