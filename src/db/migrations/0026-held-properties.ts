import { type Kysely, sql } from 'kysely'

/**
 * What is in flight is kept by property and stream, not by row: a submission holds all rows that it carries, from the
 * moment it is planned until its outcomes are known, so `submission_row` says which rows these are. And the outcome
 * that most rows of a submission have is kept with the submission: only rows that have another one are written again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // A backup may have left out what waits.
  const { rows } = await sql<{ name: string }>`
    select current_schema() as name
    union all
    select schema_name from destination
    where to_regclass(quote_ident(schema_name) || '.held_row') is not null`.execute(db)
  for (const { name } of rows) await holdProperties(db, name)
  await sql`
    alter table submission
      add column rest_outcome text check (rest_outcome in ('confirmed', 'inferred', 'rejected', 'unknown')),
      add column rest_code text,
      add column rest_reason text`.execute(db)
  await sql`comment on column submission.rest_outcome is
    'The outcome of the rows that it carried, but for those whose submission_row says another'`.execute(db)
  await sql`alter table submission_row reset (fillfactor)`.execute(db)
  await tellKinds(db)
}

/** For the destination in use, and for each that waits in a schema of its own. */
async function holdProperties(db: Kysely<unknown>, schema: string): Promise<void> {
  const [rows, properties, acceptance, ledger] = ['held_row', 'held_property', 'acceptance', 'ledger'].map((name) =>
    sql.id(schema, name),
  )
  await sql`
    create table ${properties} (
      partner_id text not null,
      stream text not null,
      submission_id bigint not null,
      more boolean not null default false,
      primary key (partner_id, stream, submission_id)
    )`.execute(db)
  // Nobody knows any more what was passed over because of them: something may have been.
  await sql`
    insert into ${properties} (partner_id, stream, submission_id, more)
    select distinct partner_id, stream, submission_id, true from ${rows}`.execute(db)
  await sql`comment on table ${properties} is
    'Properties that have rows of a stream in flight; more: something of them was left for when the submission ends'`.execute(
    db,
  )
  await sql`
    create or replace view ${ledger} as
    select s.row_id, s.stream, s.partner_id, s.row_key, s.content, s.desired_hash, s.contradiction, s.gone_at,
           s.guard_run, s.guard_change, s.first_seen_at, s.changed_at,
           a.accepted_hash is distinct from a.wanted_hash as pending,
           a.checked_hash = a.wanted_hash as judged, a.checked_hash is distinct from a.wanted_hash as unjudged,
           a.accepted_hash, a.refused_hash, a.checked_hash, a.judged_by, a.invalid_reason,
           (select h.submission_id from ${properties} h
            where h.partner_id = s.partner_id and h.stream = s.stream and exists (
              select from submission_row carried
              where carried.submission_id = h.submission_id and carried.row_id = s.row_id)) as held_by,
           a.outcome, a.outcome_code, a.outcome_reason, a.outcome_submission, a.outcome_at, a.accepted_at,
           a.retry_action, a.resent_hash, a.resent_count
    from source_row s join ${acceptance} a using (row_id)`.execute(db)
  await sql`drop table ${rows}`.execute(db)
}

/**
 * What the planner was to be told of ended submissions when an older version stopped is found by its last look over all
 * rows.
 */
async function tellKinds(db: Kysely<unknown>): Promise<void> {
  await sql`drop table ended_submission`.execute(db)
  await sql`
    create table ended_submission (
      run_id bigint not null,
      kind text not null,
      partner_ids text[] not null,
      unsettled_ids text[] not null
    )`.execute(db)
  await sql`create index ended_submission_run on ended_submission (run_id)`.execute(db)
  await sql`comment on table ended_submission is
    'Properties that a submission released since the planner looked last; unsettled_ids: those of which more may be sent'`.execute(
    db,
  )
}
