import { type Kysely, sql } from 'kysely'

/**
 * What stands although a search did not renew it, with the reason; and what was removed, so that it can be brought
 * back. No foreign keys, as with the values: both belong to what was pulled.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // The key begins with the company, so that the table can be distributed by it. What does not apply is 0, because a
  // key holds no nulls: then a view that is not asked for these columns does not read the table.
  await sql`
    create table unrenewed_part (
      company_key integer not null default 0,
      part text not null check (part in (
        'company', 'company_name', 'calculator', 'calculator_title', 'value', 'property', 'variable_name', 'property_name'
      )),
      calculator_key integer not null default 0,
      direction "char" not null default '-',
      variable_key integer not null default 0,
      property_key integer not null default 0,
      ordinal integer not null default 0,
      since timestamptz not null default statement_timestamp(),
      reason text not null,
      withheld boolean not null,
      submission_id bigint not null,
      primary key (company_key, part, calculator_key, direction, variable_key, property_key, ordinal)
    )`.execute(db)
  await sql`
    create table removed_value (
      company_key integer not null,
      calculator_key integer not null,
      variable_key integer not null,
      direction "char" not null check (direction in ('i', 'o')),
      removal_id bigint generated always as identity,
      value text not null,
      submission_id bigint not null,
      removed_at timestamptz not null default statement_timestamp(),
      primary key (company_key, calculator_key, direction, variable_key, removal_id)
    )`.execute(db)
  await sql`create index removed_value_time on removed_value using brin (removed_at)`.execute(db)
  await sql`
    create table removed_property (
      company_key integer not null,
      property_key integer not null,
      ordinal integer not null,
      removal_id bigint generated always as identity,
      value text not null,
      submission_id bigint not null,
      removed_at timestamptz not null default statement_timestamp(),
      primary key (company_key, property_key, ordinal, removal_id)
    )`.execute(db)
  await sql`create index removed_property_time on removed_property using brin (removed_at)`.execute(db)
  await replaceViews(db)
  await createViews(db)
  for (const comment of comments) await comment.execute(db)
}

/** New columns come last, so that the views can be replaced. */
async function replaceViews(db: Kysely<unknown>): Promise<void> {
  const company = markOf('company', { company_key: 'c.company_key' })
  await sql`
    create or replace view companies as
    select c.company_id, c.name, latest.partner_id, c.first_seen_at, c.changed_at, c.removed_at,
      ${columns(company, markOf('company_name', { company_key: 'c.company_key' }))}
    from company c
    left join (
      select m.company_id, m.partner_id from mapping m
      where not exists (
        select from mapping later
        where later.company_id = m.company_id
          and (later.mapped_at > m.mapped_at or (later.mapped_at = m.mapped_at and later.partner_id < m.partner_id))
      )
    ) latest using (company_id)`.execute(db)
  const property = { company_key: 'v.company_key', property_key: 'v.property_key', ordinal: 'v.ordinal' }
  await sql`
    create or replace view company_properties as
    select c.company_id, p.property_id, p.name as property_name, v.ordinal, v.value,
      ${columns(markOf('property', property), company)}
    from company_property v
    join company c using (company_key)
    join custom_property p using (property_key)
    where c.removed_at is null`.execute(db)
  const calculator = { company_key: 'k.company_key', calculator_key: 'k.calculator_key' }
  await sql`
    create or replace view calculators as
    select k.calculator_id, c.company_id, k.type_id, k.title, k.period_year, k.period_month, k.changed_at, k.removed_at,
      k.first_seen_at, ${columns(markOf('calculator', calculator), company, markOf('calculator_title', calculator))}
    from calculator k
    join company c using (company_key)`.execute(db)
  await sql`
    create or replace view calculator_variables as
    select v.variable_id, v.name, ${columns(markOf('variable_name', { variable_key: 'v.variable_key' }))}
    from calculator_variable v
    where v.name is not null`.execute(db)
  const value = { ...calculator, direction: 'v.direction', variable_key: 'v.variable_key' }
  await sql`
    create or replace view calculator_values as
    select k.calculator_id, c.company_id, k.period_year, k.period_month,
      case v.direction when 'i' then 'input' else 'output' end as direction,
      n.variable_id, n.name as variable_name, v.value, numeric_reading(v.value) as value_numeric,
      ${columns(markOf('value', value), markOf('calculator', calculator), company)}
    from calculator_value v
    join calculator k on k.calculator_key = v.calculator_key
      and v.company_key >= k.company_key and v.company_key <= k.company_key
    join company c on c.company_key = v.company_key
    join calculator_variable n using (variable_key)
    where k.removed_at is null and c.removed_at is null`.execute(db)
}

type Mark = (column: 'since' | 'reason') => ReturnType<typeof sql>

/**
 * The columns of a view that say since when and why, of the first of these marks that there is. Subqueries and no
 * joins: a view with more joins is not planned as one with the views beside it. Mostly nothing is marked, which is
 * asked once.
 */
function columns(...marks: Mark[]) {
  const first = (column: 'since' | 'reason') => sql.join(marks.map((mark) => sql`(${mark(column)})`))
  return sql`
    case when exists (select from unrenewed_part) then coalesce(${first('since')}) end as not_renewed_since,
    case when exists (select from unrenewed_part) then coalesce(${first('reason')}) end as not_renewed_reason`
}

/** The mark of a part, by its whole key; what does not apply is as the table has it. */
function markOf(part: string, key: Partial<Record<string, string>>): Mark {
  const none = { company_key: 0, calculator_key: 0, direction: '-', variable_key: 0, property_key: 0, ordinal: 0 }
  const conditions = Object.entries(none).map(([name, absent]) => {
    const given = key[name]
    return sql`u.${sql.ref(name)} = ${given === undefined ? sql.lit(absent) : sql.ref(given)}`
  })
  return (column) =>
    sql`select u.${sql.ref(column)} from unrenewed_part u where u.part = ${sql.lit(part)} and ${sql.join(conditions, sql` and `)}`
}

async function createViews(db: Kysely<unknown>): Promise<void> {
  await sql`
    create view not_renewed as
    select u.part, c.company_id, k.calculator_id,
      case u.direction when 'i' then 'input' when 'o' then 'output' end as direction,
      n.variable_id, p.property_id, nullif(u.ordinal, 0) as ordinal, u.since, u.reason, u.withheld, s.run_id
    from unrenewed_part u
    left join company c using (company_key)
    left join calculator k on k.calculator_key = u.calculator_key
    left join calculator_variable n on n.variable_key = u.variable_key
    left join custom_property p on p.property_key = u.property_key
    left join submission s on s.submission_id = u.submission_id`.execute(db)
  await sql`
    create view removals as
    select 'value' as part, c.company_id, k.calculator_id,
      case v.direction when 'i' then 'input' else 'output' end as direction,
      n.variable_id, null::text as property_id, null::integer as ordinal, v.value, v.removed_at, s.run_id
    from removed_value v
    join company c using (company_key)
    join calculator k using (calculator_key)
    join calculator_variable n using (variable_key)
    left join submission s using (submission_id)
    union all
    select 'property', c.company_id, null, null, null, p.property_id, v.ordinal, v.value, v.removed_at, s.run_id
    from removed_property v
    join company c using (company_key)
    join custom_property p using (property_key)
    left join submission s using (submission_id)`.execute(db)
}

/** Literal SQL throughout: `comment on` takes no parameters. */
const comments = [
  sql`comment on table unrenewed_part is
    'What stands although the last search that should have renewed it did not; 0 and - where a column does not apply'`,
  sql`comment on column unrenewed_part.since is 'When a search first did not renew it'`,
  sql`comment on column unrenewed_part.reason is 'A stable code; see docs/errors.md'`,
  sql`comment on column unrenewed_part.withheld is
    'Whether the search shows it as absent, so that accept-removals removes it; else what the page holds cannot be right'`,
  sql`comment on column unrenewed_part.submission_id is 'The search that last did not renew it'`,
  sql`comment on table removed_value is 'Values that were removed, for as long as pull.keepRemovedDays says'`,
  sql`comment on table removed_property is 'Property values that were removed, for as long as pull.keepRemovedDays says'`,

  sql`comment on column companies.not_renewed_since is
    'Since when searches have not renewed the company, or its name; null while they do'`,
  sql`comment on column companies.not_renewed_reason is 'Why not, as a stable code; null while they do'`,
  sql`comment on column company_properties.not_renewed_since is
    'Since when searches have not renewed the value; null while they do'`,
  sql`comment on column company_properties.not_renewed_reason is 'Why not, as a stable code; null while they do'`,
  sql`comment on column calculators.not_renewed_since is
    'Since when searches have not renewed the calculator, or its title; null while they do'`,
  sql`comment on column calculators.not_renewed_reason is 'Why not, as a stable code; null while they do'`,
  sql`comment on column calculator_variables.not_renewed_since is
    'Since when pages have not given a name that can be read; null while they do'`,
  sql`comment on column calculator_variables.not_renewed_reason is 'Why not, as a stable code; null while they do'`,
  sql`comment on column calculator_values.not_renewed_since is
    'Since when searches have not renewed the value; null while they do'`,
  sql`comment on column calculator_values.not_renewed_reason is 'Why not, as a stable code; null while they do'`,

  sql`comment on view not_renewed is
    'What stands although the last search that should have renewed it did not, one row for the largest part that this is true of'`,
  sql`comment on column not_renewed.part is
    'company, company_name, calculator, calculator_title, value, property, variable_name or property_name'`,
  sql`comment on column not_renewed.company_id is 'The company; null of names that all companies share'`,
  sql`comment on column not_renewed.calculator_id is 'The calculator; null unless it is one, its title or a value'`,
  sql`comment on column not_renewed.direction is 'Of a value: input or output'`,
  sql`comment on column not_renewed.variable_id is 'The variable of a value, or whose name it is'`,
  sql`comment on column not_renewed.property_id is 'The custom property of a value, or whose name it is'`,
  sql`comment on column not_renewed.ordinal is 'Position among the values of a custom property, from 1'`,
  sql`comment on column not_renewed.since is 'When a search first did not renew it'`,
  sql`comment on column not_renewed.reason is 'Why not, as a stable code'`,
  sql`comment on column not_renewed.withheld is
    'Whether the search shows it as absent and its removal was withheld: nightferry accept-removals removes it'`,
  sql`comment on column not_renewed.run_id is 'The run whose search last did not renew it'`,

  sql`comment on view removals is
    'Values and property values that were removed and can be brought back, for as long as pull.keepRemovedDays says'`,
  sql`comment on column removals.part is 'value or property'`,
  sql`comment on column removals.company_id is 'The company under which it stood'`,
  sql`comment on column removals.calculator_id is 'The calculator of a value'`,
  sql`comment on column removals.direction is 'Of a value: input or output'`,
  sql`comment on column removals.variable_id is 'The variable of a value'`,
  sql`comment on column removals.property_id is 'The custom property of a property value'`,
  sql`comment on column removals.ordinal is 'Position among the values of a custom property, from 1'`,
  sql`comment on column removals.value is 'The string that the service had stored'`,
  sql`comment on column removals.removed_at is 'When it was removed'`,
  sql`comment on column removals.run_id is 'The run whose search showed it as absent'`,

  sql`comment on column actions.verb is
    'What was done, by the name of the verb: retry, abandon, adopt, cancel, grant, revoke, accept-removals, restore and others'`,
]
