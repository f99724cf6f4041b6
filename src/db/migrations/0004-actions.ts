import { type Kysely, sql } from 'kysely'

/** What people did, rows that they ask to have sent again, and what ledger rows said before they changed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table action (
      action_id bigint generated always as identity primary key,
      verb text not null check (verb in ('retry', 'abandon', 'adopt', 'cancel')),
      acted_by text not null,
      host text not null,
      acted_at timestamptz not null default clock_timestamp(),
      submission_id bigint references submission,
      correlation_id text,
      rows bigint not null,
      asked jsonb not null default '{}',
      result text
    )`.execute(db)
  await sql`create index action_submission on action (submission_id)`.execute(db)

  await sql`alter table source_row add column retry_action bigint references action`.execute(db)
  await sql`create index source_row_retry on source_row (retry_action) where retry_action is not null`.execute(db)

  // No foreign key: its trigger would run once a changed row, and rows of the ledger are never deleted.
  await sql`
    create table row_change (
      row_id bigint not null,
      changed_at timestamptz not null default clock_timestamp(),
      content_before jsonb not null,
      hash_before bytea not null
    )`.execute(db)
  await sql`create index row_change_row on row_change (row_id, changed_at)`.execute(db)
  // A trigger, so that the past is kept by whichever way of reading brings the change.
  await sql`
    create function keep_row_change() returns trigger
    language plpgsql as $$
    begin
      insert into row_change (row_id, content_before, hash_before) values (old.row_id, old.content, old.desired_hash);
      return null;
    end
    $$`.execute(db)
  await sql`
    create trigger source_row_changed after update of content on source_row
    for each row when (old.desired_hash is distinct from new.desired_hash)
    execute function keep_row_change()`.execute(db)

  await sql`
    create view actions as
    select action_id, verb, acted_by, host, acted_at, submission_id, correlation_id, rows, asked, result
    from action`.execute(db)
  for (const comment of comments) await comment.execute(db)
}

const comments = [
  sql`comment on view actions is 'What people did with the verbs retry, abandon, adopt and cancel'`,
  sql`comment on column actions.action_id is 'Grows with time'`,
  sql`comment on column actions.verb is 'retry, abandon, adopt or cancel'`,
  sql`comment on column actions.acted_by is 'The user of the operating system; behind sudo, both'`,
  sql`comment on column actions.host is 'The machine'`,
  sql`comment on column actions.acted_at is 'When'`,
  sql`comment on column actions.submission_id is 'The submission that was acted on; null for retry'`,
  sql`comment on column actions.correlation_id is 'The task that was adopted or cancelled, or that was given up'`,
  sql`comment on column actions.rows is 'How many rows were marked, or were in the submission'`,
  sql`comment on column actions.asked is 'What the command line asked for: the filters of a retry'`,
  sql`comment on column actions.result is
    'What came of it; null while the service has not answered, or where the process ended before it did'`,
  sql`comment on table row_change is 'What a ledger row said before each change of its content'`,
]
