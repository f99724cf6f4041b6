import { type Kysely, sql } from 'kysely'

/** The schedule that each job has, and since when: what fell due before was not missed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table job_schedule (
      job text primary key,
      schedule text,
      time_zone text not null,
      since timestamptz not null
    )`.execute(db)
  await sql`comment on table job_schedule is
    'The schedule of each job as a daemon saw it last, null where it has none, and since when it has been in force'`.execute(
    db,
  )
}
