import { type Kysely, sql } from 'kysely'

/**
 * Which submission holds a row, apart from what was accepted of it: a line is added when a row is planned and removed
 * when its outcome is known, where an update of `acceptance` would write the row and all its indexes twice more.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // A backup may have left out what waits.
  const { rows } = await sql<{ name: string }>`
    select current_schema() as name
    union all
    select schema_name from destination
    where to_regclass(quote_ident(schema_name) || '.acceptance') is not null`.execute(db)
  for (const { name } of rows) await holdApart(db, name)
  // A submission and its rows are written in one transaction, to rows of the ledger that are there, and none of the
  // three is ever deleted while another names it: two look-ups a row less. Half a page stays free, so that an outcome
  // is written beside the row that it belongs to, without new lines in the indexes.
  await sql`
    alter table submission_row
      drop constraint submission_row_submission_id_fkey,
      drop constraint submission_row_row_id_fkey,
      set (fillfactor = 50)`.execute(db)
}

/** For the destination in use, and for each that waits in a schema of its own. */
async function holdApart(db: Kysely<unknown>, schema: string): Promise<void> {
  const [held, acceptance, ledger] = ['held_row', 'acceptance', 'ledger'].map((name) => sql.id(schema, name))
  await sql`
    create table ${held} (
      row_id bigint primary key,
      submission_id bigint not null,
      partner_id text not null
    )`.execute(db)
  await sql`
    insert into ${held} (row_id, submission_id, partner_id)
    select row_id, held_by, partner_id from ${acceptance} where held_by is not null`.execute(db)
  await sql`create index held_row_partner on ${held} (partner_id)`.execute(db)
  await sql`
    create or replace view ${ledger} as
    select s.row_id, s.stream, s.partner_id, s.row_key, s.content, s.desired_hash, s.contradiction, s.gone_at,
           s.guard_run, s.guard_change, s.first_seen_at, s.changed_at,
           a.accepted_hash is distinct from a.wanted_hash as pending,
           a.checked_hash = a.wanted_hash as judged, a.checked_hash is distinct from a.wanted_hash as unjudged,
           a.accepted_hash, a.refused_hash, a.checked_hash, a.judged_by, a.invalid_reason, h.submission_id as held_by,
           a.outcome, a.outcome_code, a.outcome_reason, a.outcome_submission, a.outcome_at, a.accepted_at,
           a.retry_action, a.resent_hash, a.resent_count
    from source_row s join ${acceptance} a using (row_id) left join ${held} h using (row_id)`.execute(db)
  await sql`alter table ${acceptance} drop column held_by`.execute(db)
}
