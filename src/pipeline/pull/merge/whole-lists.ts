import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { notGiven } from './unrenewed-parts.ts'

/**
 * Makes the lists of which something stays, as absent_property says, stay whole: half of one list beside half of
 * another is none that the service ever had. Nothing of them is removed, all that is not renewed has one reason, and
 * what the page gives instead is left out of merge_property, unless it is their beginning. Where a person has brought
 * anything of a list back, that is the reason: accepting what is withheld takes no piece out of it.
 *
 * A page that gives no fewer values than stand shows the list: nothing of it is absent, and it is not concerned.
 */
export async function keepWholeLists(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    create temporary table kept_list on commit drop as
    select company_key, property_key,
      case when bool_or(reason = 'restored') then 'restored' else min(reason) end as reason,
      bool_or(withheld) as withheld
    from absent_property where reason is not null
    group by company_key, property_key`.execute(trx)
  await sql`
    update absent_property a set reason = k.reason, withheld = k.withheld
    from kept_list k
    where a.company_key = k.company_key and a.property_key = k.property_key`.execute(trx)
  await sql`
    create temporary table refused_list on commit drop as
    select distinct on (m.company_key, m.property_key) m.company_key, m.property_key, k.reason, k.withheld
    from kept_list k
    join merge_property m on m.company_key = k.company_key and (
      m.property_key = k.property_key
      or m.property_key in (select s.given_key from respelled_property s where s.property_key = k.property_key)
    )
    where not exists (
      select from company_property t
      where t.company_key = m.company_key and t.property_key = m.property_key and t.ordinal = m.ordinal
        and t.value = m.value
    )
    order by m.company_key, m.property_key, k.property_key = m.property_key desc`.execute(trx)
  const { rows } = await sql<{ some: boolean }>`select exists (select from refused_list) as some`.execute(trx)
  if (rows[0]?.some === true) await leaveOutRefused(trx, submissionId)
}

/** What the refused lists would have been written over is as little renewed as the rest. */
async function leaveOutRefused(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    insert into staged_left_out (unit, company_id, item, reason, excerpt)
    select 'property', c.company_id, p.property_id, r.reason,
      left((
        select json_agg(m.value order by m.ordinal) from merge_property m
        where m.company_key = r.company_key and m.property_key = r.property_key
      )::text, 200)
    from refused_list r join staged_company c using (company_key) join custom_property p using (property_key)`.execute(
    trx,
  )
  await sql`
    update absent_property a set reason = r.reason, withheld = r.withheld
    from refused_list r
    where a.reason is null and a.company_key = r.company_key and a.property_key = r.property_key`.execute(trx)
  await sql`
    insert into absent_property
      (company_key, property_key, ordinal, value, reason, withheld, respelled, elsewhere, shown)
    select t.company_key, t.property_key, t.ordinal, t.value, r.reason, r.withheld, false,
      false, c.given and not ${placeNotGiven(submissionId)}
    from refused_list r
    join company_property t using (company_key, property_key)
    join staged_company c using (company_key)
    where not exists (
      select from absent_property a
      where a.company_key = t.company_key and a.property_key = t.property_key and a.ordinal = t.ordinal
    )`.execute(trx)
  await sql`
    delete from merge_property m using refused_list r
    where m.company_key = r.company_key and m.property_key = r.property_key`.execute(trx)
}

/** Whether the value `t` stands although no page of the search has given it so far. */
export function placeNotGiven(submissionId: number) {
  return notGiven(
    submissionId,
    sql`u.company_key = t.company_key and u.part = 'property' and u.property_key = t.property_key
      and u.ordinal = t.ordinal`,
  )
}
