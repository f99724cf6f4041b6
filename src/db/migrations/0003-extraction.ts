import { type Kysely, sql } from 'kysely'

/** Snapshot capture with tombstones and drift, rows without a cursor by name, and the guard's plans. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table run add column held boolean not null default false`.execute(db)
  await sql`
    alter table run_stream
      add column capture text not null default 'cursor' check (capture in ('cursor', 'snapshot')),
      add column protection text check (protection in ('transactions', 'overlap', 'none')),
      add column gone bigint not null default 0,
      add column returned bigint not null default 0`.execute(db)
  await sql`
    alter table source_row
      add column gone_at timestamptz,
      add column guard_run bigint references run,
      add column guard_change text check (guard_change in ('new', 'changed', 'gone')),
      add constraint source_row_guard check ((guard_run is null) = (guard_change is null))`.execute(db)
  await sql`create index source_row_gone on source_row (stream) where gone_at is not null`.execute(db)
  await sql`create index source_row_guarded on source_row (stream) where guard_run is not null`.execute(db)

  await sql`
    create table guard_plan (
      run_id bigint not null references run,
      stream text not null,
      reason text not null check (reason in ('share', 'empty')),
      known bigint not null,
      new bigint not null,
      changed bigint not null,
      gone bigint not null,
      examples jsonb not null,
      state text not null check (state in ('waiting', 'approved', 'superseded')),
      planned_at timestamptz not null default clock_timestamp(),
      approved_at timestamptz,
      approved_by text,
      primary key (run_id, stream)
    )`.execute(db)

  await sql`
    create table null_cursor_row (
      row_id bigint primary key references source_row,
      since timestamptz not null default clock_timestamp()
    )`.execute(db)

  await sql`
    create table snapshot_line (
      stream text not null,
      bucket integer not null,
      high bigint not null,
      low bigint not null,
      row_id bigint not null
    )`.execute(db)
  await sql`create index snapshot_line_bucket on snapshot_line (stream, bucket)`.execute(db)
  await sql`
    create table snapshot_bucket (
      stream text not null,
      bucket integer not null,
      lines bigint not null,
      high_sum numeric not null,
      low_sum numeric not null,
      primary key (stream, bucket)
    )`.execute(db)
  await sql`
    create table stream_snapshot (
      stream text primary key,
      folded bigint not null,
      run_id bigint not null references run,
      read_at timestamptz not null default clock_timestamp()
    )`.execute(db)

  await sql`
    create view drift as
    select stream, partner_id, row_key, content, accepted_at, outcome, gone_at as gone_since
    from source_row
    where gone_at is not null and (accepted_at is not null or outcome = 'unknown' or held_by is not null)`.execute(db)
  await sql`
    create view rows_without_cursor as
    select stream, partner_id, row_key, since
    from null_cursor_row
    join source_row using (row_id)
    where gone_at is null`.execute(db)
  for (const comment of comments) await comment.execute(db)
}

const comments = [
  sql`comment on view drift is 'Rows that the service has, or may have, and the partner has no longer'`,
  sql`comment on column drift.stream is 'The kind of row'`,
  sql`comment on column drift.partner_id is 'The partner''s id of the property'`,
  sql`comment on column drift.row_key is 'What the row wrote at the service, unique within its stream'`,
  sql`comment on column drift.content is 'What the partner had of it last'`,
  sql`comment on column drift.accepted_at is 'When the service last accepted the row; null if nobody knows whether it did'`,
  sql`comment on column drift.outcome is 'The last outcome'`,
  sql`comment on column drift.gone_since is 'When a run first found it gone'`,
  sql`comment on view rows_without_cursor is 'Rows that the partner yielded without a cursor when their stream was last read'`,
  sql`comment on column rows_without_cursor.stream is 'The kind of row'`,
  sql`comment on column rows_without_cursor.partner_id is 'The partner''s id of the property'`,
  sql`comment on column rows_without_cursor.row_key is 'Unique within its stream'`,
  sql`comment on column rows_without_cursor.since is 'When a run first found it without a cursor'`,
]
