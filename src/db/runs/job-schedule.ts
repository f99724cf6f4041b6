import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { lastDecided } from './run-life.ts'

/** When a job starts by itself, as it is configured; without a schedule it never does. */
type Schedule = { schedule: string | null; timeZone: string }

/**
 * Notes the schedule that a job has, and since when: what fell due before was not to be run, and so was not missed.
 * One that was noted before stands. Where none was noted, the last occurrence that was decided says since when.
 * @param from since when it counts if it is new, or differs from the one noted before.
 * @param now a noted moment that is later comes from a clock that was ahead.
 * @returns since when the schedule has been in force.
 */
export async function noteSchedule(
  db: Database,
  job: string,
  { schedule, timeZone }: Schedule,
  { from, now }: { from: Date; now: Date },
): Promise<Date> {
  const unlessNoted = (await lastDecided(db, job, now)) ?? from
  const { rows } = await sql<{ since: Date }>`
    insert into job_schedule (job, schedule, time_zone, since) values (${job}, ${schedule}, ${timeZone}, ${unlessNoted})
    on conflict (job) do update
    set schedule = excluded.schedule, time_zone = excluded.time_zone, since = ${from}
    where (job_schedule.schedule, job_schedule.time_zone) is distinct from (excluded.schedule, excluded.time_zone)
      or job_schedule.since > ${now}
    returning since`.execute(db)
  return rows[0]?.since ?? (await notedSchedule(db, job))?.since ?? from
}

/**
 * Since when a job has had the schedule that it has: what fell due before was not to be run.
 * @returns `now` where another one was noted last, or by a clock that was ahead; null where none was ever noted.
 */
export async function scheduleSince(
  db: Database,
  job: string,
  { schedule, timeZone }: Schedule,
  now: Date,
): Promise<Date | null> {
  const noted = await notedSchedule(db, job)
  if (noted === undefined) return null
  const stands = noted.schedule === schedule && noted.time_zone === timeZone && noted.since <= now
  return stands ? noted.since : now
}

async function notedSchedule(db: Database, job: string) {
  return await db.selectFrom('job_schedule').selectAll().where('job', '=', job).executeTakeFirst()
}

/** Notes that all jobs but these have no schedule any more: one that comes back begins with its next occurrence. */
export async function retireSchedules(db: Database, known: readonly string[]): Promise<void> {
  await db.updateTable('job_schedule').set({ schedule: null }).where('job', 'not in', known).execute()
}
