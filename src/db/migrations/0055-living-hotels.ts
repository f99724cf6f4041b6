import { type Kysely, type RawBuilder, sql } from 'kysely'

/**
 * A row that is gone is no drift where another row of its company, which the partner has, writes the same thing: a
 * hotel got another id, or an id is spelled otherwise. And a company is shown with a partner id that the partner has,
 * whichever of several was mapped last. For the destination in use, and for each that waits in a schema of its own.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ name: string; drifts: boolean }>`
    select schemaname as name, exists (
             select from pg_views view where view.schemaname = own.schemaname and viewname = 'drift') as drifts
    from pg_tables own
    where tablename = 'unrenewed_part'
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { name, drifts } of rows) {
    await nameLiving(db, name)
    if (drifts) await leaveOutWritten(db, name)
  }
}

async function nameLiving(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (...names: string[]) => sql.id(schema, ...names)
  const isLiving = (mapping: string) => sql`exists (
    select from source_row row
    where row.partner_id = ${sql.ref(`${mapping}.partner_id`)} and row.stream = 'properties' and row.gone_at is null)`
  const mark = (part: string, column: string) => sql`
    select ${sql.ref(`u.${column}`)} from ${of('unrenewed_part')} u
    where u.part = ${sql.lit(part)} and u.company_key = c.company_key and u.calculator_key = 0 and u.direction = '-'
      and u.variable_key = 0 and u.property_key = 0 and u.ordinal = 0`
  const first = (column: string) => sql`
    case when exists (select from ${of('unrenewed_part')})
         then coalesce((${mark('company', column)}), (${mark('company_name', column)})) end`
  await sql`
    create or replace view ${of('companies')} as
    select c.company_id, c.name, shown.partner_id, c.first_seen_at, c.changed_at, c.removed_at,
           ${first('since')} as not_renewed_since, ${first('reason')} as not_renewed_reason
    from ${of('company')} c
    left join (
      select m.company_id, m.partner_id from ${of('mapping')} m
      where not exists (
        select from ${of('mapping')} other
        where other.company_id = m.company_id and other.partner_id <> m.partner_id
          and case when ${isLiving('other')} <> ${isLiving('m')} then ${isLiving('other')}
                   else other.mapped_at > m.mapped_at
                     or (other.mapped_at = m.mapped_at and other.partner_id < m.partner_id) end
      )
    ) shown using (company_id)`.execute(db)
  await sql`comment on column ${of('companies', 'partner_id')} is
    'The id in the partner database, where a mapping was confirmed; of several the latest of those that are there'`.execute(
    db,
  )
}

/** What a row writes to, by its stream and its content; null: nobody can say whether another row writes the same. */
const thing = (stream: RawBuilder<unknown>, content: RawBuilder<unknown>) => {
  const period = sql`concat_ws(' ', ${content} ->> 'period_type', ${content} ->> 'year', ${content} ->> 'month')`
  return sql`case ${stream}
    when 'framework_answers' then to_jsonb(lower(${content} ->> 'data_point_id') || e'\n' || ${period})
    when 'omissions' then to_jsonb(lower(${content} ->> 'question_id') || e'\n' || ${period})
    when 'custom_property_values' then to_jsonb(lower(${content} ->> 'property_id'))
    when 'standard_holders' then to_jsonb(lower(${content} ->> 'standard_id'))
    when 'calculator_settings' then to_jsonb(''::text)
    when 'calculator_inputs' then ${content} - 'inputs' end`
}

/** A calculator is written only where all of its inputs are: one that no other row has stays there. */
async function leaveOutWritten(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (name: string) => sql.id(schema, name)
  const isWritten = (
    company: RawBuilder<unknown>,
    [stream, content]: [stream: RawBuilder<unknown>, content: RawBuilder<unknown>],
  ) => sql`exists (
    select from ${of('mapping')} writer join source_row living using (partner_id)
    where writer.company_id = ${company} and living.stream = ${stream} and living.gone_at is null
      and ${thing(sql`living.stream`, sql`living.content`)} = ${thing(stream, content)}
      and (living.stream <> 'calculator_inputs' or (${content} -> 'inputs')
             - array(select jsonb_object_keys(living.content -> 'inputs')) = '{}'))`
  await sql`
    create or replace view ${of('drift')} as
    select stream, gone.partner_id, row_key, content, accepted_at, outcome, gone_at as gone_since, 'gone' as why,
           company_id
    from ${of('ledger')} gone left join ${of('mapping')} mapping using (partner_id)
    where gone_at is not null
      and (accepted_at is not null or perhaps_taken_at is not null or held_by is not null)
      and not ${isWritten(sql`mapping.company_id`, [sql`gone.stream`, sql`gone.content`])}
    union all
    select stream, source_row.partner_id, row_key, left_behind.content, left_behind.accepted_at, null, left_at,
           'remapped', left_behind.company_id
    from ${of('left_behind')} join source_row using (row_id)
    -- What the old company was sent again since, because its hotel came back to it, is in its place.
    where not exists (
        select from ${of('mapping')} join ${of('acceptance')} using (partner_id)
        where mapping.company_id = left_behind.company_id and acceptance.row_id = left_behind.row_id
          and acceptance.accepted_hash is not null)
      and not ${isWritten(sql`left_behind.company_id`, [sql`source_row.stream`, sql`left_behind.content`])}`.execute(db)
}
