import { type Kysely, sql } from 'kysely'

/** What it takes to remove old runs with their requests, and to have counted them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Without it, each request that goes is looked for among the parents of all others.
  await sql`create index submission_parent on submission (parent_id) where parent_id is not null`.execute(db)
  await sql`
    create table run_tally (
      job text not null,
      verdict text not null,
      runs bigint not null,
      primary key (job, verdict)
    )`.execute(db)
  await sql`comment on table run_tally is 'Runs that housekeeping has removed, so that counters of runs never fall'`.execute(
    db,
  )
}
