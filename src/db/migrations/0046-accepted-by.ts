import { type Kysely, sql } from 'kysely'

/**
 * A difference names the submission by which its row was accepted, also where the last outcome of the row is that of a
 * change which was rejected and taken back since. For the destination in use, and for each that waits in a schema of
 * its own.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select schemaname as name from pg_views
    where viewname = 'differences'
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { name } of rows) await nameAcceptances(db, name)
}

/** Requests are of every destination, and only those to that of the row's last outcome have brought its acceptance. */
const acceptedBy = sql`case when r.outcome in ('confirmed', 'inferred') then r.outcome_submission else (
      select max(took.submission_id)
      from submission_row took join submission taker using (submission_id) join run using (run_id)
      where took.row_id = r.row_id and took.sent_hash = r.accepted_hash
        and coalesce(took.outcome, taker.rest_outcome) in ('confirmed', 'inferred')
        and run.destination_id = (
          select run.destination_id from submission last_one join run using (run_id)
          where last_one.submission_id = r.outcome_submission)
    ) end`

async function nameAcceptances(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (...names: string[]) => sql.id(schema, ...names)
  const acceptedSince = sql`coalesce(r.outcome_submission > last.submission_id or r.accepted_at > last.compared_at
      and (r.outcome_submission is null or r.accepted_at <= clock_timestamp()
        or last.compared_at > clock_timestamp()), false)`
  await sql`
    create or replace view ${of('input_differences')} as
    select d.kind, coalesce(r.partner_id, mapped.partner_id) as partner_id, d.company_id, d.period_year, d.period_month,
      d.variable_id, n.name as variable_name, d.sent, d.stored, d.cause, r.accepted_at,
      ${acceptedBy} as submission_id, d.found_by_run, d.found_at
    from ${of('input_difference')} d
    left join ${of('ledger')} r using (row_id)
    left join lateral (
      select m.partner_id from ${of('mapping')} m
      where d.row_id is null and m.company_id = d.company_id
      order by m.mapped_at desc, m.partner_id
      limit 1
    ) mapped on true
    left join lateral (
      select v.name from ${of('calculator_variable')} v
      where lower(v.variable_id) = d.variable_id order by v.variable_key limit 1
    ) n on true
    where d.row_id is null or (not r.pending and r.held_by is null and not exists (
      select from (
        select compared_at, submission_id from ${of('input_comparison')}
        where withheld is null order by run_id desc limit 1
      ) last
      where ${acceptedSince}))`.execute(db)
  await sql`
    create or replace view ${of('differences')} as
    select r.stream, d.kind, r.partner_id, d.company_id, r.row_key, null::text as variable_name, d.sent, d.stored,
      d.cause, r.accepted_at, ${acceptedBy} as submission_id, d.changed_there_at, d.found_by_run, d.found_at,
      d.resent_by_run
    from ${of('row_difference')} d
    join ${of('ledger')} r using (row_id)
    left join (
      select distinct on (kind) kind, compared_at, submission_id
      from ${of('row_comparison')} where withheld is null order by kind, run_id desc
    ) last on last.kind = d.comparison
    where not r.pending and r.held_by is null and not ${acceptedSince}
    union all
    select 'calculator_inputs', d.kind, d.partner_id, d.company_id, r.row_key, coalesce(d.variable_name, d.variable_id),
      d.sent, d.stored, d.cause, d.accepted_at, d.submission_id, null, d.found_by_run, d.found_at, i.resent_by_run
    from ${of('input_differences')} d
    join ${of('input_difference')} i on i.company_id = d.company_id and i.period_year = d.period_year
      and i.period_month is not distinct from d.period_month and i.variable_id = d.variable_id
    left join source_row r on r.row_id = i.row_id
    where d.kind <> 'foreign'`.execute(db)
  for (const view of ['differences', 'input_differences']) {
    await sql`comment on column ${of(view, 'submission_id')} is
      'The submission by which it was accepted; null: nobody knows it any more'`.execute(db)
  }
}
