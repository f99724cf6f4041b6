import { type Kysely, sql } from 'kysely'

/** Runs, the ledger of rows, and the submissions that carry them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run (
      run_id bigint generated always as identity primary key,
      job text not null,
      trigger text not null check (trigger in ('schedule', 'missed', 'cli', 'http')),
      scheduled_for timestamptz not null,
      state text not null check (state in ('running', 'finished', 'failed', 'skipped')),
      step text not null,
      verdict text check (verdict in ('succeeded', 'partial', 'failed')),
      failure jsonb,
      report jsonb,
      resumed integer not null default 0,
      started_at timestamptz not null default clock_timestamp(),
      finished_at timestamptz,
      unique (job, scheduled_for)
    )`.execute(db)
  await sql`create unique index run_one_running on run (job) where state = 'running'`.execute(db)

  await sql`
    create table stream_watermark (
      stream text primary key,
      watermark text not null,
      run_id bigint not null references run,
      moved_at timestamptz not null default clock_timestamp()
    )`.execute(db)

  await sql`
    create table run_stream (
      run_id bigint not null references run,
      stream text not null,
      read bigint not null,
      folded bigint not null,
      unchanged bigint not null,
      changed bigint not null,
      null_cursor bigint not null,
      pending bigint,
      watermark_before text,
      watermark_after text,
      extracted_at timestamptz not null default clock_timestamp(),
      primary key (run_id, stream)
    )`.execute(db)

  await sql`
    create table submission (
      submission_id bigint generated always as identity primary key,
      run_id bigint not null references run,
      kind text not null,
      partition text not null default '',
      state text not null check (state in
        ('planned', 'sending', 'accepted', 'terminal', 'settled', 'refused', 'uncertain', 'lost', 'abandoned')),
      row_count integer not null,
      correlation_id text unique,
      attempts integer not null default 0,
      repeats integer not null default 0,
      failures integer not null default 0,
      failing_since timestamptz,
      polls integer not null default 0,
      timer integer not null default 0,
      task_status text,
      task jsonb,
      payload bytea,
      payload_bytes bigint,
      error_code text,
      error_message text,
      unmatched jsonb,
      search_result jsonb,
      planned_at timestamptz not null default clock_timestamp(),
      attempted_at timestamptz,
      uncertain_since timestamptz,
      accepted_at timestamptz,
      polled_at timestamptz,
      terminal_at timestamptz,
      settled_at timestamptz
    )`.execute(db)
  await sql`create index submission_run on submission (run_id)`.execute(db)
  await sql`
    create index submission_unfinished on submission (submission_id)
    where state in ('planned', 'sending', 'accepted', 'terminal', 'uncertain')`.execute(db)

  await sql`
    create table source_row (
      row_id bigint generated always as identity primary key,
      stream text not null,
      partner_id text not null,
      row_key text not null,
      content jsonb not null,
      desired_hash bytea not null,
      accepted_hash bytea,
      refused_hash bytea,
      checked_hash bytea,
      invalid_reason text,
      held_by bigint references submission,
      outcome text check (outcome in ('confirmed', 'inferred', 'rejected', 'unknown')),
      outcome_code text,
      outcome_reason text,
      outcome_submission bigint references submission,
      outcome_at timestamptz,
      accepted_at timestamptz,
      first_seen_at timestamptz not null default clock_timestamp(),
      changed_at timestamptz not null default clock_timestamp(),
      unique (stream, row_key)
    )`.execute(db)
  await sql`
    create index source_row_pending on source_row (stream, partner_id)
    where accepted_hash is distinct from desired_hash`.execute(db)
  await sql`create index source_row_held on source_row (held_by) where held_by is not null`.execute(db)
  await sql`create index source_row_held_partner on source_row (partner_id) where held_by is not null`.execute(db)
  await sql`create index source_row_partner on source_row (partner_id, stream)`.execute(db)

  await sql`
    create table submission_row (
      submission_id bigint not null references submission,
      row_id bigint not null references source_row,
      sent_hash bytea,
      outcome text check (outcome in ('confirmed', 'inferred', 'rejected', 'unknown')),
      code text,
      reason text,
      primary key (submission_id, row_id)
    )`.execute(db)
  await sql`create index submission_row_row on submission_row (row_id)`.execute(db)

  await sql`
    create table staged_outcome (
      submission_id bigint not null references submission,
      partner_id text not null,
      accepted boolean,
      company_id text,
      code text,
      reason text
    )`.execute(db)
  await sql`create index staged_outcome_submission on staged_outcome (submission_id, partner_id)`.execute(db)

  await sql`
    create table mapping (
      partner_id text primary key,
      company_id uuid not null,
      submission_id bigint not null references submission,
      mapped_at timestamptz not null default clock_timestamp()
    )`.execute(db)
  await sql`create index mapping_company on mapping (company_id)`.execute(db)

  await sql`
    create table reference_data (
      kind text not null,
      id text not null,
      document jsonb not null,
      fetched_at timestamptz not null,
      changed_at timestamptz not null,
      primary key (kind, id)
    )`.execute(db)

  await sql`
    create table search_page (
      page_id bigint generated always as identity primary key,
      submission_id bigint not null references submission,
      ordinal integer not null,
      url text not null,
      state text not null check (state in ('listed', 'loaded', 'failed')),
      companies bigint not null default 0,
      calculators bigint not null default 0,
      values bigint not null default 0,
      added bigint not null default 0,
      changed bigint not null default 0,
      removed bigint not null default 0,
      quarantined bigint not null default 0,
      bytes bigint not null default 0,
      failures integer not null default 0,
      error_code text,
      error_message text,
      loaded_at timestamptz,
      unique (submission_id, ordinal)
    )`.execute(db)
}
