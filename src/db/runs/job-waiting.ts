import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'

/**
 * Notes that an occurrence of a schedule was seen in time and has to wait for another run: however long that takes, and
 * whichever daemon lives to see it, it was not missed.
 */
export async function noteWaiting(db: Database, job: string, due: Date): Promise<void> {
  await sql`
    insert into job_waiting (job, due) values (${job}, ${due})
    on conflict (job) do update set due = excluded.due, noted_at = clock_timestamp()
    where job_waiting.due < excluded.due`.execute(db)
}

/** Whether this occurrence, or a later one, was seen in time. */
export async function isWaiting(db: Database, job: string, due: Date): Promise<boolean> {
  const noted = await db.selectFrom('job_waiting').select('due').where('job', '=', job).executeTakeFirst()
  return noted !== undefined && noted.due >= due
}

export async function forgetWaiting(trx: Transaction<Schema>, job: string): Promise<void> {
  await trx.deleteFrom('job_waiting').where('job', '=', job).execute()
}
