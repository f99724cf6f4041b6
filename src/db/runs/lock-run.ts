import type { Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'

/**
 * Locks a run that is under way until the transaction ends. The lock of a look belongs to a connection of its own and
 * is lost with it, while the look goes on; what two looks must not do at once is therefore done under this lock.
 * @returns false when the run has ended: a later one may be at work already.
 */
export async function lockRun(trx: Transaction<Schema>, runId: number): Promise<boolean> {
  const run = await trx
    .selectFrom('run')
    .select('run_id')
    .where('run_id', '=', runId)
    .where('state', '=', 'running')
    .forNoKeyUpdate()
    .executeTakeFirst()
  return run !== undefined
}
