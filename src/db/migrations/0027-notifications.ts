import { type Kysely, sql } from 'kysely'

/**
 * What people are told of runs: kept until it is delivered, so that a death between a run's end and its news loses
 * nothing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table notification (
      notification_id bigint generated always as identity primary key,
      job text not null,
      run_id bigint,
      event text not null check (event in ('failed', 'partial', 'late', 'recovered', 'heartbeat')),
      cause text not null,
      message jsonb not null,
      created_at timestamptz not null default now(),
      attempts integer not null default 0,
      next_at timestamptz,
      told_at timestamptz,
      error text
    )`.execute(db)
  await sql`create index notification_due on notification (next_at) where next_at is not null`.execute(db)
  await sql`create index notification_job on notification (job, notification_id)`.execute(db)
  await sql`comment on table notification is
    'What people were or are to be told of runs; next_at: when it is sent, null if it was, or is not wanted'`.execute(
    db,
  )
  await sql`
    create table notification_mark (
      job text primary key,
      run_id bigint not null,
      late_for timestamptz,
      since timestamptz not null default now()
    )`.execute(db)
  await sql`comment on table notification_mark is
    'Up to which run the ends of a job''s runs were judged for notifications, and for which moment it was found late'`.execute(
    db,
  )
}
