import { type Kysely, sql } from 'kysely'

/** How long steps take, what waits for its turn, and what else is asked of a run. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_step (
      run_id bigint not null references run on delete cascade,
      step text not null,
      began_at timestamptz not null,
      ended_at timestamptz not null,
      primary key (run_id, step)
    )`.execute(db)
  await sql`comment on table run_step is 'How long each step of a run took that is done'`.execute(db)
  await sql`
    create table job_waiting (
      job text primary key,
      due timestamptz not null,
      noted_at timestamptz not null default clock_timestamp()
    )`.execute(db)
  await sql`comment on table job_waiting is
    'The occurrence of a job''s schedule that was seen in time and waits for the run of another job'`.execute(db)
  await sql`
    alter table job_request
      add column streams text[],
      add column since text`.execute(db)
  await sql`alter table notification add column taken_by text[] not null default '{}'`.execute(db)
  await sql`alter table notification drop constraint notification_event_check`.execute(db)
  await sql`
    alter table notification add constraint notification_event_check
      check (event in ('failed', 'partial', 'late', 'slow', 'recovered', 'heartbeat'))`.execute(db)
  await sql`alter table notification_mark add column slow_run bigint`.execute(db)
}
