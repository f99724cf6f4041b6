import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { lastDecided } from './run-life.ts'

/** When a job starts by itself, as it is configured; without a schedule it never does. */
type Schedule = { schedule: string | null; timeZone: string }

/** What is noted where a job has none, so that one that is set later is not taken for one from before. */
const none = ''

/**
 * Notes the schedule that a job has, and since when: what fell due before was not to be run, and so was not missed.
 * One that is in force stands. Where none was ever noted, the last occurrence that was decided says since when. Others
 * of the job are retired; a daemon that still uses one of them keeps it (`keepSchedule`).
 * @param from since when it counts if it is new or was retired.
 * @param now a noted moment that is later comes from a clock that was ahead.
 * @returns since when the schedule has been in force.
 */
export async function noteSchedule(
  db: Database,
  job: string,
  setting: Schedule,
  { from, now }: { from: Date; now: Date },
): Promise<Date> {
  const { schedule, timeZone } = { ...setting, schedule: setting.schedule ?? none }
  const known = await db.selectFrom('job_schedule').select('job').where('job', '=', job).limit(1).executeTakeFirst()
  const unlessNoted = known === undefined ? ((await lastDecided(db, job, now)) ?? from) : from
  // A statement of its own: two daemons that note different ones wait for each other in no circle.
  await sql`
    update job_schedule set since = null
    where job = ${job} and (schedule, time_zone) <> (${schedule}, ${timeZone}) and since is not null`.execute(db)
  const { rows } = await sql<{ since: Date }>`
    insert into job_schedule as noted (job, schedule, time_zone, since)
    values (${job}, ${schedule}, ${timeZone}, ${unlessNoted})
    on conflict (job, schedule, time_zone) do update
    set since = case when noted.since <= ${now} then noted.since else ${from} end
    returning since`.execute(db)
  return rows[0]?.since ?? from
}

/** Keeps a schedule in force that a daemon goes by: one that goes by another, or lacks the job, retires it. */
export async function keepSchedule(
  db: Database,
  job: string,
  { schedule, timeZone }: Schedule,
  since: Date,
): Promise<void> {
  await db
    .updateTable('job_schedule')
    .set({ since })
    .where('job', '=', job)
    .where('schedule', '=', schedule ?? none)
    .where('time_zone', '=', timeZone)
    .where('since', 'is', null)
    .execute()
}

/**
 * Since when a job has had the schedule that it has: what fell due before was not to be run.
 * @returns `now` where it is not in force, or was noted by a clock that was ahead; null where none was ever noted.
 */
export async function scheduleSince(
  db: Database,
  job: string,
  { schedule, timeZone }: Schedule,
  now: Date,
): Promise<Date | null> {
  const noted = await db.selectFrom('job_schedule').selectAll().where('job', '=', job).execute()
  if (noted.length === 0) return null
  const own = noted.find((one) => one.schedule === (schedule ?? none) && one.time_zone === timeZone)
  const since = own?.since ?? now
  return since <= now ? since : now
}

/** Notes that all jobs but these have no schedule any more: one that comes back begins with its next occurrence. */
export async function retireSchedules(db: Database, known: readonly string[]): Promise<void> {
  await db
    .updateTable('job_schedule')
    .set({ since: null })
    .where('job', 'not in', known)
    .where('since', 'is not', null)
    .execute()
}
