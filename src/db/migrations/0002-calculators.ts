import { type Kysely, sql } from 'kysely'

/** What calculator searches returned, the views that people read, and what a search has seen so far. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table company (
      company_key integer generated always as identity primary key,
      company_id uuid not null unique,
      name text,
      first_seen_at timestamptz not null default statement_timestamp(),
      changed_at timestamptz not null default statement_timestamp(),
      removed_at timestamptz
    )`.execute(db)
  await sql`
    create table custom_property (
      property_key integer generated always as identity primary key,
      property_id text not null unique,
      name text not null
    )`.execute(db)
  await sql`
    create table company_property (
      company_key integer not null references company,
      property_key integer not null references custom_property,
      ordinal integer not null,
      value text not null,
      primary key (company_key, property_key, ordinal)
    )`.execute(db)
  await sql`
    create table calculator_variable (
      variable_key integer generated always as identity primary key,
      variable_id text not null unique,
      name text not null
    )`.execute(db)
  await sql`
    create table calculator (
      calculator_key integer generated always as identity primary key,
      calculator_id uuid not null unique,
      company_key integer not null references company,
      type_id uuid not null,
      title text,
      period_year integer not null,
      period_month smallint check (period_month between 1 and 12),
      changed_at timestamptz not null default statement_timestamp(),
      removed_at timestamptz
    )`.execute(db)
  await sql`create index calculator_company on calculator (company_key)`.execute(db)
  // No foreign keys: their triggers run once a value and would take most of the time of a load.
  // Calculators and variables are never deleted, so that there is nothing for a key to guard.
  await sql`
    create table calculator_value (
      calculator_key integer not null,
      variable_key integer not null,
      direction "char" not null check (direction in ('i', 'o')),
      value text not null,
      primary key (calculator_key, direction, variable_key)
    )`.execute(db)

  await sql`
    create table search_seen_company (
      submission_id bigint not null references submission,
      company_key integer not null,
      primary key (submission_id, company_key)
    )`.execute(db)
  await sql`
    create table search_seen_calculator (
      submission_id bigint not null references submission,
      calculator_key integer not null,
      primary key (submission_id, calculator_key)
    )`.execute(db)

  await sql`
    create table quarantine (
      page_id bigint not null references search_page,
      unit text not null check (unit in ('company', 'calculator', 'value', 'property', 'variable_name', 'property_name')),
      company_id uuid,
      calculator_id uuid,
      item text,
      reason text not null,
      excerpt text not null
    )`.execute(db)
  await sql`create index quarantine_page on quarantine (page_id)`.execute(db)

  await createViews(db)
  await commentOnViews(db)
}

async function createViews(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function numeric_reading(value text) returns numeric
    language sql immutable strict parallel safe
    return case
      when length(value) <= 100 and value ~ '^[-+]?([0-9]+(\\.[0-9]+)?|\\.[0-9]+)([eE][-+]?[0-9]{1,2})?$'
      then value::numeric
    end`.execute(db)
  await sql`
    create view companies as
    select c.company_id, c.name, mapped.partner_id, c.first_seen_at, c.changed_at, c.removed_at
    from company c
    left join lateral (
      select m.partner_id from mapping m
      where m.company_id = c.company_id
      order by m.mapped_at desc, m.partner_id
      limit 1
    ) mapped on true`.execute(db)
  await sql`
    create view company_properties as
    select c.company_id, p.property_id, p.name as property_name, v.ordinal, v.value
    from company_property v
    join company c using (company_key)
    join custom_property p using (property_key)
    where c.removed_at is null`.execute(db)
  await sql`
    create view calculators as
    select k.calculator_id, c.company_id, k.type_id, k.title, k.period_year, k.period_month, k.changed_at, k.removed_at
    from calculator k
    join company c using (company_key)`.execute(db)
  await sql`
    create view calculator_variables as
    select variable_id, name from calculator_variable`.execute(db)
  await sql`
    create view calculator_values as
    select k.calculator_id, c.company_id, k.period_year, k.period_month,
      case v.direction when 'i' then 'input' else 'output' end as direction,
      n.variable_id, n.name as variable_name, v.value, numeric_reading(v.value) as value_numeric
    from calculator_value v
    join calculator k using (calculator_key)
    join company c using (company_key)
    join calculator_variable n using (variable_key)
    where k.removed_at is null and c.removed_at is null`.execute(db)
}

/** Literal SQL throughout: `comment on` takes no parameters. */
async function commentOnViews(db: Kysely<unknown>): Promise<void> {
  for (const comment of comments) await comment.execute(db)
}

const comments = [
  sql`comment on function numeric_reading(text) is
    'The number that a text is, where the whole text is one plain decimal number of at most 100 characters; else null'`,

  sql`comment on view companies is 'Companies that a calculator search has returned; those gone since keep their row'`,
  sql`comment on column companies.company_id is 'The id of the company at the service'`,
  sql`comment on column companies.name is 'The name as the service last gave it; null while it gave none that can be read'`,
  sql`comment on column companies.partner_id is
    'The id in the partner database, where a mapping was confirmed; the latest if there are several'`,
  sql`comment on column companies.first_seen_at is 'When a page first held the company'`,
  sql`comment on column companies.changed_at is
    'When the company, one of its properties, calculators or values last changed here'`,
  sql`comment on column companies.removed_at is 'When a complete search no longer returned the company; null while it does'`,

  sql`comment on view company_properties is 'Values of the requested custom properties, of companies that are not removed'`,
  sql`comment on column company_properties.company_id is 'The id of the company at the service'`,
  sql`comment on column company_properties.property_id is 'The id of the custom property at the service'`,
  sql`comment on column company_properties.property_name is 'The name of the custom property at the service'`,
  sql`comment on column company_properties.ordinal is 'Position among the values of that property, from 1'`,
  sql`comment on column company_properties.value is 'The string that the service stores'`,

  sql`comment on view calculators is 'One computation for one company and reporting period; those gone keep their row'`,
  sql`comment on column calculators.calculator_id is 'The id of the calculator at the service'`,
  sql`comment on column calculators.company_id is 'The company that the calculator belongs to'`,
  sql`comment on column calculators.type_id is 'The calculator type; searches select on it'`,
  sql`comment on column calculators.title is 'The title as the service last gave it; null while it gave none that can be read'`,
  sql`comment on column calculators.period_year is 'Year of the reporting period'`,
  sql`comment on column calculators.period_month is 'Month of the reporting period, 1 to 12; null on a yearly calculator'`,
  sql`comment on column calculators.changed_at is 'When the calculator or one of its values last changed here'`,
  sql`comment on column calculators.removed_at is 'When the service no longer returned the calculator; null while it does'`,

  sql`comment on view calculator_variables is 'Every variable that a page has named'`,
  sql`comment on column calculator_variables.variable_id is 'The id of the variable; of inputs, the field type id'`,
  sql`comment on column calculator_variables.name is 'The type name of the variable at the service'`,

  sql`comment on view calculator_values is 'Inputs and outputs of calculators that are not removed'`,
  sql`comment on column calculator_values.calculator_id is 'The calculator that the value belongs to'`,
  sql`comment on column calculator_values.company_id is 'The company that the calculator belongs to'`,
  sql`comment on column calculator_values.period_year is 'Year of the reporting period'`,
  sql`comment on column calculator_values.period_month is 'Month of the reporting period, 1 to 12; null if yearly'`,
  sql`comment on column calculator_values.direction is 'input: fed to the calculator; output: computed by it'`,
  sql`comment on column calculator_values.variable_id is 'The id of the variable at the service'`,
  sql`comment on column calculator_values.variable_name is 'The type name of the variable at the service'`,
  sql`comment on column calculator_values.value is 'The string that the service stores, unchanged'`,
  sql`comment on column calculator_values.value_numeric is
    'The value as a number, where the whole text is a plain decimal number; else null'`,

  sql`comment on table quarantine is
    'What was left out of a page because its content cannot be right; at most as many rows a page as the limits allow'`,
  sql`comment on table search_seen_company is 'Companies that the pages of a search loaded so far have shown'`,
  sql`comment on table search_seen_calculator is 'Calculators that the pages of a search loaded so far have shown'`,
]
