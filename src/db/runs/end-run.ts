import type { Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { RunFailure, Verdict } from '../tables/run-tables.ts'

/** Ends a run with its report. */
export async function finishRun(
  trx: Transaction<Schema>,
  runId: number,
  verdict: Verdict,
  report: object,
  finishedAt: Date,
): Promise<void> {
  await trx
    .updateTable('run')
    .set({ state: 'finished', verdict, report: JSON.stringify(report), finished_at: finishedAt })
    .where('run_id', '=', runId)
    .where('state', '=', 'running')
    .execute()
}

/**
 * Ends a run that cannot go on. What it sent stays what it is; the next run goes on from there.
 * @returns false if it had ended already.
 */
export async function failRun(db: Database, runId: number, failure: RunFailure, finishedAt: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('run')
    .set({ state: 'failed', verdict: 'failed', failure: JSON.stringify(failure), finished_at: finishedAt })
    .where('run_id', '=', runId)
    .where('state', '=', 'running')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
