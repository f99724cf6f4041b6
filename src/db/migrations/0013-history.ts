import { type Kysely, sql } from 'kysely'

/**
 * What values were before: changes of values, where a search records them; names that changed; which custom properties
 * pages listed. Calculators get the time at which they were first seen; of those that are here that is not known, and
 * the time of their last change stands for it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table calculator add column first_seen_at timestamptz not null default statement_timestamp()`.execute(db)
  await sql`update calculator set first_seen_at = changed_at`.execute(db)
  await sql`alter table submission add column history boolean not null default false`.execute(db)
  await sql`alter table search_page add column listed_property_ids text[]`.execute(db)
  // The key begins with the company, so that the table can be distributed by it. No foreign keys, as with the values.
  await sql`
    create table calculator_value_change (
      company_key integer not null,
      calculator_key integer not null,
      variable_key integer not null,
      direction "char" not null check (direction in ('i', 'o')),
      change_id bigint generated always as identity,
      submission_id bigint not null,
      changed_at timestamptz not null default statement_timestamp(),
      before text,
      after text,
      check (before is not null or after is not null),
      primary key (company_key, calculator_key, direction, variable_key, change_id)
    )`.execute(db)
  await sql`create index calculator_value_change_search on calculator_value_change (submission_id)`.execute(db)
  // A calculator that moved has changes under several companies.
  await sql`create index calculator_value_change_calculator on calculator_value_change (calculator_key)`.execute(db)
  // Rows are only ever added at the end, and removed from the beginning: a few bytes a megabyte tell where a time lies.
  await sql`create index calculator_value_change_time on calculator_value_change using brin (changed_at)`.execute(db)
  await sql`
    create table history_start (
      singleton boolean primary key default true check (singleton),
      began_at timestamptz not null
    )`.execute(db)
  await sql`
    create table complete_search (
      submission_id bigint primary key references submission,
      calculator_type_ids uuid[] not null,
      ended_at timestamptz not null
    )`.execute(db)
  await sql`
    create table name_change (
      change_id bigint generated always as identity primary key,
      kind text not null check (kind in ('variable', 'property')),
      id text not null,
      before text not null,
      after text not null,
      page_id bigint not null references search_page,
      changed_at timestamptz not null default statement_timestamp()
    )`.execute(db)
  await sql`create index name_change_page on name_change (page_id)`.execute(db)
  await createViews(db)
  for (const comment of comments) await comment.execute(db)
}

async function createViews(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace view calculators as
    select k.calculator_id, c.company_id, k.type_id, k.title, k.period_year, k.period_month, k.changed_at, k.removed_at,
      k.first_seen_at
    from calculator k
    join company c using (company_key)`.execute(db)
  await sql`
    create view value_changes as
    select v.change_id, s.run_id, v.changed_at, c.company_id, k.calculator_id, k.period_year, k.period_month,
      case v.direction when 'i' then 'input' else 'output' end as direction,
      n.variable_id, n.name as variable_name,
      case when v.before is null then 'added' when v.after is null then 'removed' else 'changed' end as kind,
      v.before, v.after
    from calculator_value_change v
    join submission s using (submission_id)
    join company c using (company_key)
    join calculator k using (calculator_key)
    join calculator_variable n using (variable_key)`.execute(db)
  // Each branch joins its own names, so that a question about one company or calculator reaches the keys of both.
  await sql`
    create view calculator_value_history as
    select stood.calculator_id, stood.company_id, stood.period_year, stood.period_month, stood.direction,
      stood.variable_id, stood.variable_name, stood.value, numeric_reading(stood.value) as value_numeric,
      stood.first_seen_at, greatest(stood.first_seen_at, shown.ended_at) as last_seen_at, stood.ended_at
    from (
      select k.calculator_id, c.company_id, k.period_year, k.period_month,
        case v.direction when 'i' then 'input' else 'output' end as direction,
        n.variable_id, n.name as variable_name, v.value, k.type_id,
        coalesce(begun.changed_at, case when k.first_seen_at >= h.began_at then k.first_seen_at end) as first_seen_at,
        null::timestamptz as ended_at, null::bigint as ended_by
      from history_start h
      cross join calculator_value v
      join calculator k using (company_key, calculator_key)
      join company c using (company_key)
      join calculator_variable n using (variable_key)
      left join lateral (
        select b.changed_at from calculator_value_change b
        where b.company_key = v.company_key and b.calculator_key = v.calculator_key
          and b.direction = v.direction and b.variable_key = v.variable_key and b.changed_at >= h.began_at
        order by b.change_id desc limit 1
      ) begun on true
      union all
      select k.calculator_id, c.company_id, k.period_year, k.period_month,
        case v.direction when 'i' then 'input' else 'output' end,
        n.variable_id, n.name, v.before, k.type_id,
        coalesce(begun.changed_at, case when k.first_seen_at >= h.began_at then k.first_seen_at end),
        v.changed_at, v.submission_id
      from history_start h
      join calculator_value_change v on v.changed_at >= h.began_at and v.before is not null
      join calculator k using (calculator_key)
      join company c on c.company_key = v.company_key
      join calculator_variable n using (variable_key)
      left join lateral (
        select b.changed_at from calculator_value_change b
        where b.company_key = v.company_key and b.calculator_key = v.calculator_key
          and b.direction = v.direction and b.variable_key = v.variable_key and b.changed_at >= h.began_at
          and b.change_id < v.change_id
        order by b.change_id desc limit 1
      ) begun on true
    ) stood
    left join lateral (
      select s.ended_at from complete_search s
      where s.submission_id < coalesce(stood.ended_by, 9223372036854775807)
        and (cardinality(s.calculator_type_ids) = 0 or stood.type_id = any(s.calculator_type_ids))
      order by s.submission_id desc limit 1
    ) shown on true`.execute(db)
  await sql`
    create view name_changes as
    select n.change_id, s.run_id, n.changed_at, n.kind, n.id, n.before, n.after
    from name_change n
    join search_page p using (page_id)
    join submission s using (submission_id)`.execute(db)
}

/** Literal SQL throughout: `comment on` takes no parameters. */
const comments = [
  sql`comment on column calculators.first_seen_at is
    'When a page first held the calculator; of those that were here before that was kept, when it had last changed'`,
  sql`comment on column submission.history is 'Of a search: whether the changes that it brings are recorded'`,
  sql`comment on column search_page.listed_property_ids is
    'The custom properties that the page named, in lower case; null while that is not known'`,
  sql`comment on table history_start is
    'Since when every change of a value is recorded, without a gap; no row while none is'`,
  sql`comment on table complete_search is
    'Searches since then that proved what is absent: what stood when one ended, and is of a type that it selected, was seen by it'`,

  sql`comment on view value_changes is
    'Values that were added, changed and removed, where pull.history is on; the values that a calculator is first seen with are not among them'`,
  sql`comment on column value_changes.change_id is 'Grows with time'`,
  sql`comment on column value_changes.run_id is 'The run whose search brought the change'`,
  sql`comment on column value_changes.changed_at is 'When it was stored'`,
  sql`comment on column value_changes.company_id is 'The company under which the value stood or stands'`,
  sql`comment on column value_changes.calculator_id is 'The calculator that the value belongs to'`,
  sql`comment on column value_changes.period_year is 'Year of the reporting period'`,
  sql`comment on column value_changes.period_month is 'Month of the reporting period, 1 to 12; null if yearly'`,
  sql`comment on column value_changes.direction is 'input: fed to the calculator; output: computed by it'`,
  sql`comment on column value_changes.variable_id is 'The id of the variable at the service'`,
  sql`comment on column value_changes.variable_name is 'The type name of the variable at the service, as it is now'`,
  sql`comment on column value_changes.kind is 'added, changed or removed'`,
  sql`comment on column value_changes.before is 'The string before; null of what was added'`,
  sql`comment on column value_changes.after is 'The string since; null of what was removed'`,

  sql`comment on view calculator_value_history is
    'Every value that stands, or stood since pull.history was switched on, with its times; empty while it is off'`,
  sql`comment on column calculator_value_history.calculator_id is 'The calculator that the value belongs to'`,
  sql`comment on column calculator_value_history.company_id is 'The company under which the value stood or stands'`,
  sql`comment on column calculator_value_history.period_year is 'Year of the reporting period'`,
  sql`comment on column calculator_value_history.period_month is 'Month of the reporting period, 1 to 12; null if yearly'`,
  sql`comment on column calculator_value_history.direction is 'input: fed to the calculator; output: computed by it'`,
  sql`comment on column calculator_value_history.variable_id is 'The id of the variable at the service'`,
  sql`comment on column calculator_value_history.variable_name is 'The type name of the variable at the service, as it is now'`,
  sql`comment on column calculator_value_history.value is 'The string that the service stored'`,
  sql`comment on column calculator_value_history.value_numeric is
    'The value as a number, where the whole text is a plain decimal number; else null'`,
  sql`comment on column calculator_value_history.first_seen_at is
    'When a page first held the value; null if that was before the history begins'`,
  sql`comment on column calculator_value_history.last_seen_at is
    'The end of the last complete search that showed it, or first_seen_at if none has since; null if neither is known'`,
  sql`comment on column calculator_value_history.ended_at is
    'When a search brought another value, or none; null while the value stands'`,

  sql`comment on view name_changes is 'Variables and custom properties that were named otherwise before'`,
  sql`comment on column name_changes.change_id is 'Grows with time'`,
  sql`comment on column name_changes.run_id is 'The run whose search brought the name'`,
  sql`comment on column name_changes.changed_at is 'When it was stored'`,
  sql`comment on column name_changes.kind is 'variable or property'`,
  sql`comment on column name_changes.id is 'The id of the variable or custom property at the service'`,
  sql`comment on column name_changes.before is 'The name before'`,
  sql`comment on column name_changes.after is 'The name since'`,
]
