import { type Kysely, sql } from 'kysely'

/**
 * What a search asked for is a fact of the search, whatever the configuration of a process that looks at it later.
 * Since when answers to a request are lost is another time than since when calls about it fail, and when the service
 * denied its task a third. A page whose fresh address was a guess proves no absence. And a difference stands by the
 * order of things.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table submission add column asked jsonb`.execute(db)
  await sql`comment on column submission.asked is
    'Of a search: what it asks for, from when its body is written; calculatorTypeIds and customPropertyIds, or the body of a search for documents'`.execute(
    db,
  )
  await sql`alter table submission add column answers_lost_since timestamptz`.execute(db)
  await sql`comment on column submission.answers_lost_since is
    'Since when every answer to its POST was lost; null while none is, or once one came'`.execute(db)
  await sql`alter table submission add column denied_at timestamptz`.execute(db)
  await sql`comment on column submission.denied_at is
    'When the service last said, and it counted, that it does not know its task'`.execute(db)
  await sql`alter table search_page add column guessed boolean not null default false`.execute(db)
  await sql`comment on column search_page.guessed is
    'Its address was renewed, and only the place in the list said that it is this page''s'`.execute(db)
  await sql`
    update submission set answers_lost_since = failing_since, failing_since = case when failures > 0 then failing_since end
    where state = 'uncertain'`.execute(db)
  const { rows } = await sql<{ name: string }>`
    select schemaname as name from pg_views
    where viewname = 'differences'
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { name } of rows) await showByOrder(db, name)
}

/**
 * A difference stands as long as nothing of its row was accepted since the last comparison: by the order of submission
 * and search, and by a time only as far as the clock was not ahead then. For the destination in use, and for each that
 * waits in a schema of its own.
 */
async function showByOrder(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (name: string) => sql.id(schema, name)
  const acceptedSince = sql`coalesce(r.outcome_submission > last.submission_id or r.accepted_at > last.compared_at
      and (r.outcome_submission is null or r.accepted_at <= clock_timestamp()
        or last.compared_at > clock_timestamp()), false)`
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
      d.cause, r.accepted_at, r.outcome_submission as submission_id, d.changed_there_at, d.found_by_run, d.found_at,
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
}
