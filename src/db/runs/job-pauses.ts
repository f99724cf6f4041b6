import { type Selectable, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { JobPauseTable } from '../tables/job-tables.ts'

type JobPause = Selectable<JobPauseTable>

/** Every job that is paused. */
export async function pausedJobs(db: Database): Promise<JobPause[]> {
  return await db.selectFrom('job_pause').selectAll().orderBy('job').execute()
}

export async function isPaused(db: Database, job: string): Promise<boolean> {
  return (await db.selectFrom('job_pause').select('job').where('job', '=', job).executeTakeFirst()) !== undefined
}

/** First half of the advisory lock on a job's pause; the second is the job's name, as a number. */
const pauseLock = 4_711_020

/**
 * Keeps a job's pause as it is until the transaction ends: of a start and a pause at the same time, one sees the other.
 */
export async function lockPause(trx: Transaction<Schema>, job: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${pauseLock}, hashtext(${job}))`.execute(trx)
}
