import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { keepRemovedProperties } from './keep-removed.ts'
import { someUnrenewed } from './unrenewed-parts.ts'
import { keepUnreadableLists, keepUnrenewedProperties } from './unrenewed-properties.ts'
import type { UnrenewedOptions } from './unrenewed-values.ts'

/**
 * Makes the property values of every readable company of the page those that the page gives; what it leaves out and
 * does not show as absent stays, marked as not renewed. Companies whose values differ land in touched_company.
 */
export async function mergeProperties(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<void> {
  await sql`
    create temporary table merge_property on commit drop as
    select c.company_key, p.property_key, s.ordinal, s.value
    from staged_property s
    join staged_company c using (company_ordinal)
    join custom_property p using (property_id)
    where c.readable and exists (select from staged_property_name n where n.id = s.property_id)`.execute(trx)
  await keepUnreadableLists(trx)
  await sql`alter table merge_property add primary key (company_key, property_key, ordinal)`.execute(trx)
  await sql`analyze merge_property`.execute(trx)
  await sql`
    insert into staged_left_out (unit, company_id, item, reason, excerpt)
    select 'property', c.company_id, s.property_id, 'property_not_listed', left(to_json(s.value)::text, 200)
    from staged_property s join staged_company c using (company_ordinal)
    where c.readable and not exists (select from staged_property_name n where n.id = s.property_id)`.execute(trx)
  await keepUnrenewedProperties(trx, options)

  await sql`
    with changed as (
      update company_property t set value = m.value
      from merge_property m
      where t.company_key = m.company_key and t.property_key = m.property_key and t.ordinal = m.ordinal
        and t.value is distinct from m.value
      returning t.company_key
    )
    insert into touched_company select distinct company_key from changed`.execute(trx)
  await sql`
    with added as (
      insert into company_property (company_key, property_key, ordinal, value)
      select m.company_key, m.property_key, m.ordinal, m.value
      from merge_property m
      where not exists (
        select from company_property t
        where t.company_key = m.company_key and t.property_key = m.property_key and t.ordinal = m.ordinal
      )
      returning company_key
    )
    insert into touched_company select distinct company_key from added`.execute(trx)
  await sql`
    with removed as (
      delete from company_property t using absent_property a
      where a.reason is null and t.company_key = a.company_key and t.property_key = a.property_key
        and t.ordinal = a.ordinal
      returning t.*
    ), kept as (${keepRemovedProperties('removed', options.submissionId)})
    insert into touched_company select distinct company_key from removed`.execute(trx)
  if (!(await someUnrenewed(trx))) return
  await sql`
    delete from unrenewed_part u using merge_property m
    where u.part = 'property' and u.company_key = m.company_key and u.property_key = m.property_key
      and u.ordinal = m.ordinal`.execute(trx)
}
