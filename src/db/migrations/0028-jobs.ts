import { type Kysely, sql } from 'kysely'

/** Several jobs: what excludes what, what was asked of a run, pauses, and requests by a row. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table run drop constraint run_trigger_check`.execute(db)
  await sql`
    alter table run
      add column asked jsonb not null default '{}',
      add column asked_by text,
      add constraint run_trigger_check
        check (trigger in ('schedule', 'missed', 'cli', 'http', 'table', 'notify'))`.execute(db)
  // Runs share the ledger, adopt each other's submissions and move the same watermarks.
  await sql`
    create unique index run_one_on_ledger on run ((true))
    where state = 'running' and job <> 'housekeeping'`.execute(db)

  await sql`
    create table job_pause (
      job text primary key,
      reason text,
      paused_by text not null,
      paused_at timestamptz not null default clock_timestamp()
    )`.execute(db)
  await sql`comment on table job_pause is 'Jobs that are not started until a person resumes them'`.execute(db)

  await sql`
    create table job_request (
      request_id bigint generated always as identity primary key,
      job text not null,
      only_steps text[],
      requested_by text not null default session_user,
      requested_at timestamptz not null default clock_timestamp(),
      state text not null default 'waiting' check (state in ('waiting', 'started', 'joined', 'refused')),
      run_id bigint,
      reason text,
      answered_at timestamptz
    )`.execute(db)
  await sql`create index job_request_waiting on job_request (request_id) where state = 'waiting'`.execute(db)
  await sql`comment on table job_request is 'Runs asked for by a row, and what came of each request'`.execute(db)
  await sql`
    create function tell_job_request() returns trigger language plpgsql as $$
    begin
      perform pg_notify('nightferry_jobs', '');
      return null;
    end
    $$`.execute(db)
  await sql`
    create trigger job_request_told after insert on job_request
    for each statement execute function tell_job_request()`.execute(db)
}
