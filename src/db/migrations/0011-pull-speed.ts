import { type Kysely, sql } from 'kysely'

/**
 * Makes an unchanged company cost nothing: what its bytes were when it was last read, and what they referred to. Values
 * carry the key of their company, so that a company's values lie together and every key can be distributed by it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await addCompanyToValues(db)
  await sql`
    create table page_listing (
      listing_key integer generated always as identity primary key,
      variable_keys integer[] not null,
      property_keys integer[] not null
    )`.execute(db)
  await sql`
    alter table company
      add column content_hash uuid,
      add column listing_key integer,
      add column calculators integer not null default 0,
      add column values integer not null default 0,
      add column on_many_pages boolean not null default false`.execute(db)
  await sql`create index company_content on company (content_hash) where content_hash is not null`.execute(db)
  await sql`alter table calculator_variable alter column name drop not null`.execute(db)
  await sql`alter table custom_property alter column name drop not null`.execute(db)
  await sql`
    create or replace view calculator_variables as
    select variable_id, name from calculator_variable where name is not null`.execute(db)
  await sql`
    alter table search_seen_company
      add column whole boolean not null default false,
      add column pages integer not null default 1`.execute(db)
  await sql`
    alter table search_page
      add column unchanged bigint not null default 0,
      add column care text`.execute(db)
  await dropForeignKeys(db)
  for (const comment of comments) await comment.execute(db)
}

/**
 * Their triggers run once a row of a load. Companies, variables and properties are never
 * deleted, so that there is nothing for them to guard; what a search has seen is forgotten with the search.
 */
async function dropForeignKeys(db: Kysely<unknown>): Promise<void> {
  await sql`alter table calculator drop constraint calculator_company_key_fkey`.execute(db)
  await sql`
    alter table company_property
      drop constraint company_property_company_key_fkey,
      drop constraint company_property_property_key_fkey`.execute(db)
  await sql`alter table search_seen_company drop constraint search_seen_company_submission_id_fkey`.execute(db)
  await sql`alter table search_seen_calculator drop constraint search_seen_calculator_submission_id_fkey`.execute(db)
}

async function addCompanyToValues(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table calculator_value_by_company (
      company_key integer not null,
      calculator_key integer not null,
      variable_key integer not null,
      direction "char" not null check (direction in ('i', 'o')),
      value text not null
    )`.execute(db)
  await sql`
    insert into calculator_value_by_company (company_key, calculator_key, variable_key, direction, value)
    select k.company_key, v.calculator_key, v.variable_key, v.direction, v.value
    from calculator_value v join calculator k using (calculator_key)
    order by k.company_key, v.calculator_key`.execute(db)
  await sql`drop view calculator_values`.execute(db)
  await sql`drop table calculator_value`.execute(db)
  await sql`alter table calculator_value_by_company rename to calculator_value`.execute(db)
  await sql`
    alter table calculator_value
      add constraint calculator_value_pkey primary key (company_key, calculator_key, direction, variable_key)`.execute(
    db,
  )
  await sql`
    alter table calculator_value
      rename constraint calculator_value_by_company_direction_check to calculator_value_direction_check`.execute(db)
  await sql`
    create view calculator_values as
    select k.calculator_id, c.company_id, k.period_year, k.period_month,
      case v.direction when 'i' then 'input' else 'output' end as direction,
      n.variable_id, n.name as variable_name, v.value, numeric_reading(v.value) as value_numeric
    from calculator_value v
    join calculator k using (company_key, calculator_key)
    join company c using (company_key)
    join calculator_variable n using (variable_key)
    where k.removed_at is null and c.removed_at is null`.execute(db)
}

/** Literal SQL throughout: `comment on` takes no parameters. */
const comments = [
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

  sql`comment on column company.content_hash is
    'Hash of the bytes that the company was read from; null where what is stored is not just what those bytes say'`,
  sql`comment on column company.listing_key is 'The names that were listed on the page it was read from'`,
  sql`comment on column company.calculators is 'How many calculators those bytes hold'`,
  sql`comment on column company.values is 'How many values those bytes hold'`,
  sql`comment on column company.on_many_pages is
    'The last search held it on several pages: what one of them leaves out is judged only at the end of a search'`,
  sql`comment on table page_listing is
    'Variables and custom properties that a page listed, as long as a company that was read from it stands as it was'`,
  sql`comment on column search_seen_company.whole is 'Whether all that stands here of the company has been seen with it'`,
  sql`comment on column search_seen_company.pages is 'How many pages of the search have held it'`,
  sql`comment on column search_page.unchanged is 'Companies whose bytes were those of the last time, so that nothing was read or written'`,
  sql`comment on column search_page.care is 'Why the page was loaded with care, alone and every row compared; null if it was not'`,
]
