-- Distributes what searches return by company on a Citus cluster. docs/citus.md says what is lost, and what of
-- Nightferry does not run on it yet. Run it once, on the coordinator, after `nightferry migrate`, with nothing else
-- connected:
--
--   psql "$DATABASE_URL" --single-transaction --set ON_ERROR_STOP=1 --file config/citus.sql

set local search_path to nightferry, public;

-- Keys come from sequences on the coordinator: identity columns of 32 bits cannot be distributed. The sequences keep
-- their names and go on where they were, so that keys taken in blocks go on as well.
do $$
declare
  place record;
  after bigint;
begin
  for place in
    select c.relname as name, a.attname as key
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'nightferry'::regnamespace and a.attidentity <> ''
      and c.relname in ('company', 'calculator', 'calculator_variable', 'custom_property', 'page_listing')
  loop
    execute format('select nextval(pg_get_serial_sequence(%L, %L))', 'nightferry.' || place.name, place.key) into after;
    execute format('alter table %I alter column %I drop identity', place.name, place.key);
    execute format('create sequence %I start %s', place.name || '_' || place.key || '_seq', after);
    execute format('alter sequence %I owned by %I.%I', place.name || '_' || place.key || '_seq', place.name, place.key);
    execute format('alter table %I alter column %I set default nextval(%L)', place.name, place.key,
                   format('nightferry.%I', place.name || '_' || place.key || '_seq'));
  end loop;
end
$$;

-- Every unique key of a distributed table must hold the company's key. What the service's ids identify is kept by the
-- statements that write, and found by plain indexes.
alter table company drop constraint company_company_id_key;
create index company_company_id on company (company_id);
alter table calculator drop constraint calculator_calculator_id_key;
alter table calculator drop constraint calculator_pkey;
alter table calculator add constraint calculator_pkey primary key (company_key, calculator_key);
alter table calculator add constraint calculator_calculator_id_key unique (company_key, calculator_id);
create index calculator_calculator_id on calculator (calculator_id);
create index calculator_calculator_key on calculator (calculator_key);
-- The primary key begins with the same column.
drop index calculator_company;

-- No key may lead from a distributed or a reference table to a local one.
alter table mapping drop constraint mapping_submission_id_fkey;

-- Statistics over expressions do not exist on distributed tables.
drop statistics calculator_value_direction, calculator_value_numeric;

-- Shards of one company lie together only for a join that says `=` to its key.
create or replace view calculator_values as
select k.calculator_id, c.company_id, k.period_year, k.period_month,
  case v.direction when 'i' then 'input' else 'output' end as direction,
  n.variable_id, n.name as variable_name, v.value, numeric_reading(v.value) as value_numeric,
  coalesce(
      (select u.since from unrenewed_part u where u.company_key = v.company_key and u.part = 'value'
        and u.calculator_key = v.calculator_key and u.direction = v.direction and u.variable_key = v.variable_key),
      (select u.since from unrenewed_part u where u.company_key = v.company_key and u.part = 'calculator'
        and u.calculator_key = v.calculator_key),
      (select u.since from unrenewed_part u where u.company_key = v.company_key and u.part = 'company')
    ) as not_renewed_since,
  coalesce(
      (select u.reason from unrenewed_part u where u.company_key = v.company_key and u.part = 'value'
        and u.calculator_key = v.calculator_key and u.direction = v.direction and u.variable_key = v.variable_key),
      (select u.reason from unrenewed_part u where u.company_key = v.company_key and u.part = 'calculator'
        and u.calculator_key = v.calculator_key),
      (select u.reason from unrenewed_part u where u.company_key = v.company_key and u.part = 'company')
    ) as not_renewed_reason
from calculator_value v
join calculator k using (company_key, calculator_key)
join company c using (company_key)
join calculator_variable n using (variable_key)
where k.removed_at is null and c.removed_at is null;

-- Small, joined with everything, and the same on every node. All other tables stay on the coordinator: the ledger,
-- runs, submissions, pages and the queue.
select create_reference_table('nightferry.calculator_variable');
select create_reference_table('nightferry.custom_property');
select create_reference_table('nightferry.page_listing');
select create_reference_table('nightferry.mapping');

select create_distributed_table('nightferry.company', 'company_key');
select create_distributed_table('nightferry.company_property', 'company_key', colocate_with => 'nightferry.company');
select create_distributed_table('nightferry.calculator', 'company_key', colocate_with => 'nightferry.company');
select create_distributed_table('nightferry.calculator_value', 'company_key', colocate_with => 'nightferry.company');
select create_distributed_table('nightferry.search_seen_company', 'company_key', colocate_with => 'nightferry.company');
select create_distributed_table('nightferry.calculator_value_change', 'company_key', colocate_with => 'nightferry.company');
select create_distributed_table('nightferry.unrenewed_part', 'company_key', colocate_with => 'nightferry.company');
select create_distributed_table('nightferry.removed_value', 'company_key', colocate_with => 'nightferry.company');
select create_distributed_table('nightferry.removed_property', 'company_key', colocate_with => 'nightferry.company');
