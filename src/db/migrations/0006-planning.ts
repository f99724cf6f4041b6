import { type Kysely, sql } from 'kysely'

/** Cuts from a queue of properties, sizes of requests that are learned, and which submission released which. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // No foreign keys on what is written and removed with every cut.
  await sql`
    create table candidate (
      run_id bigint not null,
      kind text not null,
      partner_id text not null,
      primary key (run_id, kind, partner_id)
    )`.execute(db)
  await sql`
    create table kind_sweep (
      run_id bigint not null references run,
      kind text not null,
      swept_at timestamptz not null default clock_timestamp(),
      primary key (run_id, kind)
    )`.execute(db)

  await sql`
    alter table submission
      add column considered boolean not null default false,
      add column too_large boolean not null default false,
      add column too_large_row bigint`.execute(db)
  await sql`
    update submission set considered = true
    where state not in ('planned', 'sending', 'accepted', 'terminal', 'uncertain')`.execute(db)
  await sql`create index submission_unconsidered on submission (run_id) where not considered`.execute(db)
  await sql`create index submission_too_large on submission (run_id, kind) where too_large and too_large_row is null`.execute(
    db,
  )

  await sql`
    create table batch_size (
      kind text primary key,
      rows integer not null check (rows >= 1),
      updated_at timestamptz not null,
      submission_id bigint not null references submission,
      request_rows integer not null,
      duration_ms bigint,
      verdict text not null check (verdict in ('succeeded', 'failed', 'too_large', 'answer_lost')),
      rows_before integer not null
    )`.execute(db)

  await sql`
    create table submission_release (
      submission_id bigint not null references submission,
      released_by bigint not null references submission (submission_id),
      rows bigint not null,
      primary key (submission_id, released_by)
    )`.execute(db)
  await sql`create index submission_release_by on submission_release (released_by)`.execute(db)
  await sql`
    create view releases as
    select released.run_id, submission_release.submission_id, released.kind, submission_release.released_by,
           releasing.kind as released_by_kind, submission_release.rows, releasing.settled_at as released_at,
           released.planned_at
    from submission_release
    join submission released using (submission_id)
    join submission releasing on releasing.submission_id = submission_release.released_by`.execute(db)
  for (const comment of comments) await comment.execute(db)
}

const comments = [
  sql`comment on table candidate is
    'Properties that may have rows ready for a kind of request: where the planner looks, a cut at a time'`,
  sql`comment on table batch_size is 'Rows per request of each kind, as learned, with the request that said so last'`,
  sql`comment on view releases is 'Which submission released the rows of which: what they require was accepted by it'`,
  sql`comment on column releases.run_id is 'The run of the submission that was released'`,
  sql`comment on column releases.submission_id is 'The submission whose rows waited'`,
  sql`comment on column releases.kind is 'Its kind of request'`,
  sql`comment on column releases.released_by is 'The submission by which what they require was accepted'`,
  sql`comment on column releases.released_by_kind is 'Its kind of request'`,
  sql`comment on column releases.rows is 'How many rows of the one waited for the other'`,
  sql`comment on column releases.released_at is 'When the releasing submission was settled'`,
  sql`comment on column releases.planned_at is 'When the released rows were cut into their submission'`,
]
