import { sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import { lockLoading } from '../../../db/locks/advisory-lock.ts'
import type { RemovalsView } from '../../../db/tables/calculator-tables.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { otherSpellings } from '../merge/name-spelling.ts'
import { markAgain } from '../merge/unrenewed-parts.ts'
import { ofPartner, ofRun, type PartFilter, shownAgain } from './take-removals.ts'

export type RestoreFilter = Omit<PartFilter, 'reason'>

export type Restored = {
  /** Companies and calculators that are not removed any more. */
  companies: number
  calculators: number
  values: number
  properties: number
}

type Restorable = {
  values: number
  properties: number
  /** Property values that are kept and stand nowhere in their lists, and cannot come back: others have their places. */
  taken: number
  /** Values and property values of the run in companies or calculators that a later run removed with what was left. */
  gone_later: number
  removed_since: Date | null
  companies: number
}

/** What can be brought back: what is kept of what was removed, where nothing has taken its place. */
export async function countRestorable(db: Database, filter: RestoreFilter): Promise<Restorable> {
  const { rows } = await sql<Restorable>`
    with list as materialized (${lastLists(filter)}), last_value as materialized (${lastValues(filter)}), found as (
      select 'v' as part, company_key, removed_at from last_value where not gone_later
      union all
      select 'p', company_key, removed_at from list where not taken and not gone_later
    )
    select count(*) filter (where part = 'v') as values, count(*) filter (where part = 'p') as properties,
      min(removed_at) as removed_since, count(distinct company_key) as companies,
      (
        select count(*) from list l where l.taken and not exists (
          select from company_property p
          where p.company_key = l.company_key and p.value = l.value and (
            p.property_key = l.property_key or p.property_key in (${otherSpellings('property', sql`l.property_key`)})
          )
        )
      ) as taken,
      (select count(*) from last_value where gone_later)
      + (select count(*) from list where gone_later and not taken) as gone_later
    from found`.execute(db)
  return rows[0] ?? { values: 0, properties: 0, taken: 0, gone_later: 0, removed_since: null, companies: 0 }
}

/**
 * Brings removed values and property values back as they were last, with the calculators and companies that went with
 * them. They are marked as not renewed, and no search removes them again until one has shown them, or a person accepts
 * their removal. Waits until no page is being loaded.
 */
export async function restoreRemoved(trx: Transaction<Schema>, filter: RestoreFilter): Promise<Restored> {
  await lockLoading(trx, 'exclusive')
  await sql`create temporary table restored_value on commit drop as ${restorableValues(filter)}`.execute(trx)
  await sql`create temporary table restored_property on commit drop as ${restorableProperties(filter)}`.execute(trx)
  await sql`analyze restored_value, restored_property`.execute(trx)
  const companies = await sql`
    with lifted as (
      update company set removed_at = null
      where removed_at is not null and company_key in (
        select company_key from restored_value union select company_key from restored_property
      )
      returning company_key
    )
    insert into unrenewed_part (company_key, part, reason, withheld, submission_id)
    select company_key, 'company', 'restored', true, coalesce(v.submission_id, p.submission_id)
    from lifted
    left join (
      select company_key, max(submission_id) as submission_id from restored_value group by company_key
    ) v using (company_key)
    left join (
      select company_key, max(submission_id) as submission_id from restored_property group by company_key
    ) p using (company_key)
    ${markAgain}`.execute(trx)
  const calculators = await sql`
    with lifted as (
      update calculator set removed_at = null
      where removed_at is not null and calculator_key in (select calculator_key from restored_value)
      returning company_key, calculator_key
    )
    insert into unrenewed_part (company_key, part, calculator_key, reason, withheld, submission_id)
    select company_key, 'calculator', calculator_key, 'restored', true, v.submission_id
    from lifted
    join (
      select calculator_key, max(submission_id) as submission_id from restored_value group by calculator_key
    ) v using (calculator_key)
    ${markAgain}`.execute(trx)
  const values = await putBackValues(trx)
  const properties = await putBackProperties(trx)
  await markHolders(trx)
  await sql`
    update company set changed_at = statement_timestamp(), content_hash = null
    where company_key in (select company_key from restored_value union select company_key
      from restored_property)`.execute(trx)
  await sql`
    update calculator set changed_at = statement_timestamp()
    where calculator_key in (select calculator_key from restored_value)`.execute(trx)
  return {
    companies: Number(companies.numAffectedRows ?? 0),
    calculators: Number(calculators.numAffectedRows ?? 0),
    values,
    properties,
  }
}

/**
 * What stands, was withheld before and holds now what came back is marked as that, as `markUnseen` does it in the other
 * order: accepting what is withheld takes a company or calculator whole, and leaves it so.
 */
async function markHolders(trx: Transaction<Schema>): Promise<void> {
  await sql`
    update unrenewed_part set reason = 'restored'
    where withheld and not ${shownAgain} and (
      part = 'company' and company_key in (
        select company_key from restored_value union select company_key from restored_property
      )
      or part = 'calculator' and calculator_key in (select calculator_key from restored_value)
    )`.execute(trx)
}

async function putBackValues(trx: Transaction<Schema>): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    insert into calculator_value (company_key, calculator_key, direction, variable_key, value)
    select company_key, calculator_key, direction, variable_key, value from restored_value`.execute(trx)
  await sql`
    insert into unrenewed_part
      (company_key, part, calculator_key, direction, variable_key, reason, withheld, submission_id)
    select company_key, 'value', calculator_key, direction, variable_key, 'restored', true, submission_id
    from restored_value
    ${markAgain}`.execute(trx)
  await sql`
    insert into calculator_value_change
      (company_key, calculator_key, direction, variable_key, before, after, submission_id)
    select company_key, calculator_key, direction, variable_key, null, value, submission_id from restored_value
    where exists (select from history_start)`.execute(trx)
  await sql`
    delete from removed_value r using restored_value v
    where r.company_key = v.company_key and r.calculator_key = v.calculator_key
      and r.direction = v.direction and r.variable_key = v.variable_key and r.removal_id = v.removal_id`.execute(trx)
  return Number(numAffectedRows)
}

async function putBackProperties(trx: Transaction<Schema>): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    insert into company_property (company_key, property_key, ordinal, value)
    select company_key, property_key, ordinal, value from restored_property`.execute(trx)
  await sql`
    insert into unrenewed_part (company_key, part, property_key, ordinal, reason, withheld, submission_id)
    select company_key, 'property', property_key, ordinal, 'restored', true, submission_id from restored_property
    ${markAgain}`.execute(trx)
  await sql`
    delete from removed_property r using restored_property p
    where r.company_key = p.company_key and r.property_key = p.property_key and r.ordinal = p.ordinal
      and r.removal_id = p.removal_id`.execute(trx)
  return Number(numAffectedRows)
}

function restorableValues(filter: RestoreFilter) {
  return sql`select * from (${lastValues(filter)}) v where not gone_later`
}

/**
 * The last of each that was removed, in whatever spelling of its variable, if the filter means it: an earlier one is
 * not what stood last. What belongs to another company by now is not brought back.
 */
function lastValues(filter: RestoreFilter) {
  return sql`
    select r.*, coalesce(later_company.key, later_calculator.key) is not null as gone_later from (
      select distinct on (company_key, calculator_key, direction, variable_key) *
      from removed_value
      where ${ofPartner(filter.partnerId)}
      order by company_key, calculator_key, direction, variable_key, removal_id desc
    ) r
    left join (${goneLater('company', filter)}) later_company on later_company.key = r.company_key
    left join (${goneLater('calculator', filter)}) later_calculator on later_calculator.key = r.calculator_key
    where ${meant(filter)}
      and exists (
        select from calculator k where k.company_key = r.company_key and k.calculator_key = r.calculator_key
      )
      and not exists (
        select from calculator_value v
        where v.company_key = r.company_key and v.calculator_key = r.calculator_key and v.direction = r.direction
          and (
            v.variable_key = r.variable_key or v.variable_key in (${otherSpellings('variable', sql`r.variable_key`)})
          )
      )
      and not exists (
        select from removed_value o
        where o.company_key = r.company_key and o.calculator_key = r.calculator_key and o.direction = r.direction
          and o.variable_key in (${otherSpellings('variable', sql`r.variable_key`)}) and o.removed_at > r.removed_at
      )`
}

/**
 * The last of each list that was removed at one moment, whole: only where all of its places are free, because half of
 * it beside what came later would be a list that the service never had.
 */
function restorableProperties(filter: RestoreFilter) {
  return sql`select * from (${lastLists(filter)}) list where not taken and not gone_later`
}

/**
 * The keys of what holds removed values and was itself removed by a later run than the one that is meant: with the
 * values of one run alone it would be what the service never had. What goes in one run goes in several statements, and
 * is no moment: it is told by what is kept of the holder, and where nothing went with it, by when the later run began.
 */
function goneLater(holder: 'company' | 'calculator', { runId, partnerId }: RestoreFilter) {
  if (runId === undefined) return sql`select null::integer as key where false`
  const key = sql.ref(`${holder}_key`)
  const properties =
    holder === 'company'
      ? sql`union all select company_key, removed_at, submission_id from removed_property where ${ofPartner(partnerId)}`
      : sql``
  return sql`
    select ${key} as key
    from ${sql.table(holder)} h join (
      select ${key}, max(removed_at) as last, max(removed_at) filter (where ${ofRun(runId)}) as last_of_run
      from (
        select ${key}, removed_at, submission_id from removed_value where ${ofPartner(partnerId)} ${properties}
      ) kept
      group by 1
    ) kept using (${key})
    where h.removed_at is not null and (
      last_of_run < last
      or (select min(planned_at) from submission where kind = 'calculators_search' and run_id > ${runId})
        between last_of_run and h.removed_at
    )`
}

/** The last of each list that was removed at one moment, if the filter means it, and whether a place of it is taken. */
function lastLists(filter: RestoreFilter) {
  return sql`
    select * from (
      select r.*, bool_or(${meant(filter)}) over list as meant,
        later_company.key is not null as gone_later, bool_or(exists (
        select from company_property p
        where p.company_key = r.company_key and (
          p.property_key = r.property_key and p.ordinal = r.ordinal
          or p.property_key in (${otherSpellings('property', sql`r.property_key`)})
        )
        union all
        select from removed_property o
        where o.company_key = r.company_key and o.removed_at > r.removed_at
          and o.property_key in (${otherSpellings('property', sql`r.property_key`)})
      )) over list as taken
      from removed_property r join (
        select distinct on (company_key, property_key) company_key, property_key, removed_at
        from removed_property
        where ${ofPartner(filter.partnerId)}
        order by company_key, property_key, removal_id desc
      ) last using (company_key, property_key, removed_at)
      left join (${goneLater('company', filter)}) later_company on later_company.key = r.company_key
      where ${ofPartner(filter.partnerId)}
      window list as (partition by company_key, property_key)
    ) whole
    where meant`
}

/** What is asked of the last removal, once that is known. The partner is asked before: no other's rows are read. */
function meant({ runId, since }: RestoreFilter) {
  const when = since === undefined ? sql<boolean>`true` : sql<boolean>`removed_at >= ${since}`
  return sql<boolean>`${when} and ${ofRun(runId)}`
}

/** The last of a page: its moment as the database prints it, because no Date is as exact, and which one it is. */
type RemovalPlace = { at: string; part: string; removalId: number }

/**
 * What was removed, newest first, a page at a time: as the view `removals` shows it.
 * @param past where the page before ended; null: the first page.
 * @returns `next`: where this one ended; null if there is nothing further.
 */
export async function pageOfRemovals(
  db: Database,
  filter: RestoreFilter,
  limit: number,
  past: RemovalPlace | null,
): Promise<{ removals: RemovalsView[]; next: RemovalPlace | null }> {
  const { partnerId, runId, since } = filter
  const mine = sql`${ofPartner(partnerId)} and ${ofRun(runId)} and removed_at >= ${since ?? '-infinity'}::timestamptz`
  const further =
    past === null
      ? sql`true`
      : sql`(removed_at, part, removal_id) < (${past.at}::timestamptz, ${past.part}, ${past.removalId}::bigint)`
  const { rows } = await sql<RemovalsView & { exact: string; removal_id: number }>`
    with found as (
      select 'value' as part, removal_id, company_key, calculator_key, direction, variable_key,
        null::int as property_key,
             null::int as ordinal, value, removed_at, submission_id
      from removed_value where ${mine}
      union all
      select 'property', removal_id, company_key, null, null, null, property_key, ordinal, value, removed_at,
        submission_id
      from removed_property where ${mine}
    ), page as (
      select * from found where ${further} order by removed_at desc, part desc, removal_id desc limit ${limit}
    )
    select part, company.company_id, calculator.calculator_id,
           case page.direction when 'i' then 'input' when 'o' then 'output' end as direction,
           calculator_variable.variable_id, custom_property.property_id, page.ordinal, page.value, page.removed_at,
           submission.run_id, page.removed_at::text as exact, page.removal_id
    from page
    join company using (company_key)
    left join calculator on calculator.calculator_key = page.calculator_key
    left join calculator_variable on calculator_variable.variable_key = page.variable_key
    left join custom_property on custom_property.property_key = page.property_key
    left join submission using (submission_id)
    order by page.removed_at desc, part desc, page.removal_id desc`.execute(db)
  const last = rows.length < limit ? undefined : rows.at(-1)
  const removals = rows.map(({ exact: _, removal_id: __, ...row }) => row)
  return { removals, next: last === undefined ? null : place(last) }
}

function place({ exact, part, removal_id }: { exact: string; part: string; removal_id: number }): RemovalPlace {
  return { at: exact, part, removalId: removal_id }
}
