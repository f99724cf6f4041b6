import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { alike, listedProperties, namedKey, oneSpelling, otherSpellings } from './name-spelling.ts'
import { keepListsForOtherPages } from './on-many-pages.ts'
import { isSuspiciousPage, markAgain, notGiven, someUnrenewed, type UnrenewedOptions } from './unrenewed-parts.ts'
import { keepLostOfLists } from './value-history.ts'
import { keepWholeLists, placeNotGiven } from './whole-lists.ts'

/**
 * Lays out, as referred_property, the custom properties that staged companies refer to, by each spelling of their ids:
 * the key, where there is a row, and whether the page lists the property. Of a property that a company gives in several
 * spellings the first counts, in the order of the alphabet, so that it is the same one every night.
 */
export async function keyProperties(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temporary table referred_property on commit drop as
    select r.property_id, ${namedKey('property', sql`r.property_id`)} as property_key, n.id is not null as listed
    from (
      select property_id from staged_property
      union
      select property_id from staged_unrenewed_property where property_id is not null
    ) r
    left join (select distinct ${oneSpelling(sql`id`)} as id from staged_property_name) n
      on n.id = ${oneSpelling(sql`r.property_id`)}`.execute(trx)
  const { rows } = await sql<{ several: boolean }>`
    select exists (
      select from referred_property where property_key is not null group by property_key having count(*) > 1
    ) as several`.execute(trx)
  if (rows[0]?.several === true) await leaveOutOtherSpellings(trx)
}

async function leaveOutOtherSpellings(trx: Transaction<Schema>): Promise<void> {
  await sql`
    with placed as (
      select s.company_ordinal, s.property_id, rank() over (
        partition by s.company_ordinal, r.property_key order by s.property_id collate "C"
      ) as place
      from (select distinct company_ordinal, property_id from staged_property) s
      join referred_property r using (property_id)
      where r.listed
    ), taken as (
      delete from staged_property s using placed p
      where p.place > 1 and s.company_ordinal = p.company_ordinal and s.property_id = p.property_id
      returning s.*
    )
    insert into staged_left_out (unit, company_id, item, reason, excerpt)
    select 'property', c.company_id, t.property_id, 'property_twice', left(to_json(t.value)::text, 200)
    from taken t join staged_company c using (company_ordinal)
    where c.readable`.execute(trx)
}

/**
 * Makes the property values of every readable company of the page those that the page gives; what it leaves out and
 * does not show as absent stays, marked as not renewed. Companies whose values differ land in touched_company.
 */
export async function mergeProperties(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<void> {
  await sql`
    create temporary table merge_property on commit drop as
    select c.company_key, r.property_key, s.ordinal, s.value
    from staged_property s
    join staged_company c using (company_ordinal)
    join referred_property r using (property_id)
    where c.readable and r.listed`.execute(trx)
  await keepUnreadableLists(trx)
  await sql`alter table merge_property add primary key (company_key, property_key, ordinal)`.execute(trx)
  await sql`analyze merge_property`.execute(trx)
  await sql`
    insert into staged_left_out (unit, company_id, item, reason, excerpt)
    select 'property', c.company_id, s.property_id, 'property_not_listed', left(to_json(s.value)::text, 200)
    from staged_property s
    join staged_company c using (company_ordinal)
    join referred_property r using (property_id)
    where c.readable and not r.listed`.execute(trx)
  await keepUnrenewedProperties(trx, options)
  await keepLost(trx, options.submissionId)

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
      returning t.company_key
    )
    insert into touched_company select distinct company_key from removed`.execute(trx)
  if (!(await someUnrenewed(trx))) return
  // What a company that cannot be read on this page would show of what the others did not is not known.
  await sql`
    with unread as (
      update unrenewed_part u set reason = s.name_problem
      from staged_company s
      where not s.readable and s.seen and u.company_key = s.company_key and u.part = 'property'
        and u.reason = 'on_many_pages' and u.submission_id = ${options.submissionId}
    )
    delete from unrenewed_part u using merge_property m
    where u.part = 'property' and u.company_key = m.company_key and u.property_key = m.property_key
      and u.ordinal = m.ordinal`.execute(trx)
}

/**
 * Keeps what the lists lose that become shorter. So do those of which something is kept from before and a value changes
 * in its place: what is kept would else be taken for the end of a list that it never was in. And so do those that were
 * marked before the search, because a person has brought them back or no page had shown them. What comes under another
 * spelling of its property is not lost.
 */
async function keepLost(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  const marked = (list: ReturnType<typeof sql>) => sql`exists (
    select from unrenewed_part u
    where u.company_key = ${list}.company_key and u.part = 'property' and u.property_key = ${list}.property_key
      and (u.reason = 'restored'
        or u.since < (select planned_at from submission where submission_id = ${submissionId}))
  )`
  await keepLostOfLists(
    trx,
    sql`
      select company_key, property_key from absent_property a
      where reason is null and (not respelled or ${marked(sql`a`)})
      union
      select m.company_key, m.property_key
      from merge_property m join company_property t using (company_key, property_key, ordinal)
      where m.value is distinct from t.value and (${marked(sql`m`)} or exists (
        select from removed_property r where r.company_key = m.company_key and r.property_key = m.property_key
      )) and not exists (
        select from shortened_list l where l.company_key = m.company_key and l.property_key = m.property_key
      )`,
    sql`
      select company_key, property_key, ordinal, value from merge_property
      union all
      select m.company_key, s.property_key, m.ordinal, m.value
      from respelled_property s join merge_property m on m.property_key = s.given_key
      union all
      select company_key, property_key, ordinal, value from absent_property where reason is not null`,
    submissionId,
  )
}

/**
 * Takes out of merge_property the lists of which a value cannot be right, where the property is known: values stand in
 * an order, so that half a list beside half of another would be one that the service never had.
 */
async function keepUnreadableLists(trx: Transaction<Schema>): Promise<void> {
  await sql`
    delete from merge_property m
    using staged_unrenewed_property h, staged_company c, referred_property r
    where c.company_ordinal = h.company_ordinal and r.property_id = h.property_id
      and m.company_key = c.company_key and m.property_key = r.property_key
      and exists (
        select from company_property t where t.company_key = m.company_key and t.property_key = m.property_key
      )`.execute(trx)
}

/**
 * Lays out, as absent_property, what stands of the page's readable companies and the page does not give, and says of
 * what stays why: what a person has brought back; lists that cannot be right; properties that the page does not list,
 * for those it was not asked for, or it breaks the rules; all of it where the page shows a smaller share than
 * `minSeenShare`; what another page may give. Whatever stays is marked as not renewed, and lists stay whole.
 *
 * Of a company that another page of the search has given only those lists are laid out of which no page has given all,
 * and which the page gives, or which only seem absent so far. What another page has given of them is noted as `shown`,
 * and not marked.
 */
async function keepUnrenewedProperties(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<void> {
  const { submissionId } = options
  await sql`
    create temporary table absent_property on commit drop as
    select t.*, null::text as reason, false as withheld, false as respelled,
      false as elsewhere, c.given and not ${placeNotGiven(submissionId)} as shown
    from staged_company c join company_property t using (company_key)
    where c.readable
      and not exists (
        select from merge_property m
        where m.company_key = t.company_key and m.property_key = t.property_key and m.ordinal = t.ordinal
      )
      and (not c.given or ${notGiven(
        submissionId,
        sql`u.company_key = t.company_key and u.part = 'property' and u.property_key = t.property_key
          and (u.reason = 'on_many_pages' or exists (
            select from merge_property m where m.company_key = t.company_key and (m.property_key = t.property_key
              or m.property_key in (${otherSpellings('property', sql`t.property_key`)}))
          ))`,
      )})`.execute(trx)
  await sql`
    create temporary table respelled_property on commit drop as
    select p.property_key, other.property_key as given_key
    from custom_property p join custom_property other on ${alike(sql`other.property_id`, sql`p.property_id`)}
    where p.property_key in (select property_key from absent_property)
      and p.property_key <> other.property_key`.execute(trx)
  const { rows } = await sql<{ some: boolean; elsewhere: boolean }>`
    select exists (select from absent_property) as some,
      exists (select from staged_company where on_many_pages or seen) as elsewhere`.execute(trx)
  if (rows[0]?.some !== true) return
  await findRespelled(trx)
  if (await someUnrenewed(trx)) {
    await sql`
      update absent_property a set reason = 'restored', withheld = true
      from unrenewed_part u
      where not a.respelled and u.part = 'property' and u.reason = 'restored' and u.company_key = a.company_key
        and u.property_key = a.property_key and u.ordinal = a.ordinal`.execute(trx)
  }
  await keepUnreadable(trx)
  await keepUnlisted(trx)
  if (rows[0].elsewhere) await keepListsForOtherPages(trx, submissionId)
  await withholdSuspicious(trx, options)
  if (!(await markKept(trx, submissionId))) return
  await keepWholeLists(trx, submissionId)
  await markKept(trx, submissionId)
}

/** @returns whether there is anything to mark. */
async function markKept(trx: Transaction<Schema>, submissionId: number): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into unrenewed_part (company_key, part, property_key, ordinal, reason, withheld, submission_id)
    select company_key, 'property', property_key, ordinal, reason, withheld, ${submissionId}::bigint
    from absent_property where reason is not null and not shown
    ${markAgain}`.execute(trx)
  return numAffectedRows > 0n
}

/**
 * Finds what stands under one spelling of a property in the place of what the page gives under another: both have rows.
 * What lies behind the end of the other list is as absent as that of any list.
 */
async function findRespelled(trx: Transaction<Schema>): Promise<void> {
  await sql`
    update absent_property a set respelled = true
    from respelled_property s join merge_property m on m.property_key = s.given_key
    where a.property_key = s.property_key and m.company_key = a.company_key and m.ordinal = a.ordinal`.execute(trx)
}

async function keepUnreadable(trx: Transaction<Schema>): Promise<void> {
  await sql`
    update absent_property a set reason = h.reason
    from (
      select c.company_key, p.property_key, min(h.reason) as reason
      from staged_unrenewed_property h
      join staged_company c using (company_ordinal)
      join custom_property p on ${alike(sql`p.property_id`, sql`h.property_id`)}
      group by 1, 2
    ) h
    where a.reason is null and a.company_key = h.company_key and a.property_key = h.property_key`.execute(trx)
  await sql`
    update absent_property a set reason = h.reason
    from (
      select c.company_key, min(h.reason) as reason
      from staged_unrenewed_property h join staged_company c using (company_ordinal)
      where h.property_id is null
      group by 1
    ) h
    where a.reason is null and not a.respelled and a.company_key = h.company_key`.execute(trx)
  // Fields of null are left out only where they stand in the place of something.
  await sql`
    insert into staged_left_out (unit, company_id, item, reason, excerpt)
    select 'property', c.company_id, h.field, h.reason, 'null'
    from staged_unrenewed_property h join staged_company c using (company_ordinal)
    where h.field is not null and exists (
      select from absent_property a where a.company_key = c.company_key and a.reason = h.reason
    )`.execute(trx)
}

/**
 * The page lists what it was asked for and the profile owns, and every property that one of its companies has. Where it
 * does not list a property, no company's silence about it says anything.
 */
async function keepUnlisted(trx: Transaction<Schema>): Promise<void> {
  await sql`
    update absent_property a set withheld = true, reason = 'property_left_out'
    where a.reason is null and a.property_key not in (${listedProperties})`.execute(trx)
  await sql`
    update absent_property a set withheld = false, reason = 'property_not_listed'
    from staged_property s
    join staged_company c using (company_ordinal)
    join referred_property r using (property_id)
    where a.reason = 'property_left_out' and c.company_key = a.company_key and r.property_key = a.property_key`.execute(
    trx,
  )
}

/**
 * Where the page shows a smaller share than `minSeenShare` of the property values that stand of what it concerns, all
 * that it lacks stays. Of a company that another page has given, that is the lists which this page gives too, or lacks.
 * What another page may give does not count, but stays with the rest.
 */
async function withholdSuspicious(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<void> {
  const listed = sql`property_key in (${listedProperties})`
  const judged = sql`${listed} and (company_key, property_key) not in (
    select company_key, property_key from absent_property where elsewhere
  )`
  const { rows } = await sql<{ absent: number; known: number }>`
    select (select count(*) from absent_property where ${judged} and not respelled) as absent,
      (
        select count(*) from staged_company c join company_property t using (company_key)
        where c.readable and ${judged} and (
          not c.given
          or exists (
            select from absent_property a where a.company_key = t.company_key and a.property_key = t.property_key
          )
          or exists (
            select from merge_property m where m.company_key = t.company_key and m.property_key = t.property_key
          )
        )
      ) as known
    where exists (select from absent_property where reason is null and not respelled)`.execute(trx)
  if (rows[0] === undefined) return
  const known = Number(rows[0].known)
  const shown = { seen: known - Number(rows[0].absent), known }
  const unchanged = (keys: RawBuilder<unknown>) => sql`
    select from company_property where company_key = ${keys} and ${listed}`
  if (!(await isSuspiciousPage(trx, shown, options, unchanged))) return
  await sql`
    update absent_property set reason = 'too_few_properties', withheld = true
    where (reason is null or elsewhere) and not respelled`.execute(trx)
}
