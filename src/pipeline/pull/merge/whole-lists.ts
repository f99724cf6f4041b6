import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { otherSpellings } from './name-spelling.ts'
import { markAgain, notGiven } from './unrenewed-parts.ts'

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

/**
 * Brings back the lists of property values that another page of the same search has removed whole, of companies that
 * are on this page too: it may give them, or hold them where nobody can read them. Each is marked as one that no page
 * has given so far, so that the page is compared with what stood, as if it had come first, and the end of a search
 * that proves absence removes what no page gives. Before the page's property values are merged.
 */
export async function bringBackLists(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    with back as (
      delete from removed_property r using staged_company s
      where s.seen and r.company_key = s.company_key and r.submission_id = ${submissionId}
        and not exists (
          select from company_property p
          where p.company_key = r.company_key and (
            p.property_key = r.property_key
            or p.property_key in (${otherSpellings('property', sql`r.property_key`)})
          )
        )
      returning r.*
    ), stored as (
      insert into company_property (company_key, property_key, ordinal, value)
      select distinct on (company_key, property_key, ordinal) company_key, property_key, ordinal, value
      from back order by company_key, property_key, ordinal, removal_id desc
      returning company_key, property_key, ordinal
    ), touched as (
      insert into touched_company select distinct company_key from stored
    )
    insert into unrenewed_part (company_key, part, property_key, ordinal, reason, withheld, submission_id)
    select company_key, 'property', property_key, ordinal, 'on_many_pages', false, ${submissionId}::bigint from stored
    ${markAgain}`.execute(trx)
}

/**
 * Of a company that several pages contain, in this search or in the last, a page that gives nothing of a list removes
 * nothing of it: another page may give it, or may have had it where nobody could read it. Such a list is noted as
 * `elsewhere`: what the page shows is not judged by it. The end of a search that proves absence judges and removes what
 * stays marked as `on_many_pages`.
 */
export async function keepForOtherPages(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    update absent_property a
    set elsewhere = true, reason = coalesce((
      select u.reason from unrenewed_part u
      where u.company_key = a.company_key and u.part = 'company' and u.submission_id = ${submissionId}
    ), 'on_many_pages')
    from staged_company c
    where a.reason is null and c.company_key = a.company_key and (c.on_many_pages or c.seen)
      and not exists (
        select from merge_property m
        where m.company_key = a.company_key and (
          m.property_key = a.property_key
          or m.property_key in (select s.given_key from respelled_property s where s.property_key = a.property_key)
        )
      )`.execute(trx)
}
