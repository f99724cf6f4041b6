import { type Kysely, sql } from 'kysely'

/** The schedules that each job has, and since when: what fell due before was not missed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table job_schedule (
      job text not null,
      schedule text not null,
      time_zone text not null,
      since timestamptz,
      primary key (job, schedule, time_zone)
    )`.execute(db)
  await sql`comment on table job_schedule is
    'The schedules of each job that daemons have seen, empty where it has none, and since when each has been in force; null: it is not'`.execute(
    db,
  )
}
