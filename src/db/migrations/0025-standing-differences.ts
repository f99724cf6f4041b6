import { type Kysely, sql } from 'kysely'

/**
 * A difference is shown while what was accepted stands as it was compared: not of a row that is to be sent again or is
 * on the way, nor of one that was accepted since the last comparison.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select schemaname as name from pg_views
    where viewname = 'differences'
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { name } of rows) await showStanding(db, name)
}

/** For the destination in use, and for each that waits in a schema of its own. */
async function showStanding(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (name: string) => sql.id(schema, name)
  await sql`
    create or replace view ${of('input_differences')} as
    select d.kind, coalesce(r.partner_id, mapped.partner_id) as partner_id, d.company_id, d.period_year, d.period_month,
      d.variable_id, n.name as variable_name, d.sent, d.stored, d.cause, r.accepted_at,
      r.outcome_submission as submission_id, d.found_by_run, d.found_at
    from ${of('input_difference')} d
    left join ${of('ledger')} r using (row_id)
    left join lateral (
      select m.partner_id from ${of('mapping')} m
      where d.row_id is null and m.company_id = d.company_id
      order by m.mapped_at desc, m.partner_id
      limit 1
    ) mapped on true
    left join lateral (
      select v.name from ${of('calculator_variable')} v where lower(v.variable_id) = d.variable_id order by v.variable_key limit 1
    ) n on true
    where d.row_id is null or (not r.pending and r.held_by is null and not exists (
      select from (select max(compared_at) as compared_at from ${of('input_comparison')} where withheld is null) last
      where r.accepted_at > last.compared_at))`.execute(db)
  await sql`
    create or replace view ${of('differences')} as
    select r.stream, d.kind, r.partner_id, d.company_id, r.row_key, null::text as variable_name, d.sent, d.stored, d.cause,
      r.accepted_at, r.outcome_submission as submission_id, d.changed_there_at, d.found_by_run, d.found_at, d.resent_by_run
    from ${of('row_difference')} d
    join ${of('ledger')} r using (row_id)
    left join (
      select kind, max(compared_at) as compared_at from ${of('row_comparison')} where withheld is null group by kind
    ) last on last.kind = d.comparison
    where not r.pending and r.held_by is null and (r.accepted_at > last.compared_at) is not true
    union all
    select 'calculator_inputs', d.kind, d.partner_id, d.company_id, r.row_key, coalesce(d.variable_name, d.variable_id),
      d.sent, d.stored, d.cause, d.accepted_at, d.submission_id, null, d.found_by_run, d.found_at, i.resent_by_run
    from ${of('input_differences')} d
    join ${of('input_difference')} i on i.company_id = d.company_id and i.period_year = d.period_year
      and i.period_month is not distinct from d.period_month and i.variable_id = d.variable_id
    left join source_row r on r.row_id = i.row_id
    where d.kind <> 'foreign'`.execute(db)
  await sql`comment on view ${of('differences')} is
    'Rows that the service accepted and does not show as they were sent, as the last comparison of their kind found them and while that stands'`.execute(
    db,
  )
}
