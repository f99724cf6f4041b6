import { type Kysely, sql } from 'kysely'

/**
 * A difference that no row of ours explains names the partner id that the partner has, whichever of several was mapped
 * last, as companies do. For the destination in use, and for each that waits in a schema of its own.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select schemaname as name from pg_views
    where viewname = 'input_differences'
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { name } of rows) await nameLiving(db, name)
}

async function nameLiving(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (...names: string[]) => sql.id(schema, ...names)
  await sql`
    create or replace view ${of('input_differences')} as
    select d.kind, coalesce(r.partner_id, mapped.partner_id) as partner_id, d.company_id, d.period_year, d.period_month,
      d.variable_id, n.name as variable_name, d.sent, d.stored, d.cause, r.accepted_at,
      case when r.outcome in ('confirmed', 'inferred') then r.outcome_submission else (
        select max(took.submission_id)
        from submission_row took join submission taker using (submission_id) join run using (run_id)
        where took.row_id = r.row_id and took.sent_hash = r.accepted_hash
          and coalesce(took.outcome, taker.rest_outcome) in ('confirmed', 'inferred')
          and run.destination_id = (
            select run.destination_id from submission last_one join run using (run_id)
            where last_one.submission_id = r.outcome_submission)
      ) end as submission_id, d.found_by_run, d.found_at
    from ${of('input_difference')} d
    left join ${of('ledger')} r using (row_id)
    left join lateral (
      select m.partner_id from ${of('mapping')} m
      where d.row_id is null and m.company_id = d.company_id
      order by exists (
          select from source_row property
          where property.partner_id = m.partner_id and property.stream = 'properties' and property.gone_at is null
        ) desc, m.mapped_at desc, m.partner_id
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
      where coalesce(r.outcome_submission > last.submission_id or r.accepted_at > last.compared_at
        and (r.outcome_submission is null or r.accepted_at <= clock_timestamp()
          or last.compared_at > clock_timestamp()), false)))`.execute(db)
}
