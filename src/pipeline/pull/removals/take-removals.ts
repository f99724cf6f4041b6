import { sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import { lockLoading } from '../../../db/locks/advisory-lock.ts'
import type { UnrenewedPart } from '../../../db/tables/calculator-tables.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { forgetMarksOfGone, notRenewedSince } from '../merge/unrenewed-parts.ts'

/** Parts that can be removed; a name only stands for something that is there. */
const removable: readonly UnrenewedPart[] = ['company', 'calculator', 'value', 'property']

export type UnrenewedCount = {
  part: UnrenewedPart
  reason: string
  /** Whether accepting removals means it, unless its reason is named. */
  withheld: boolean
  parts: number
  since: Date
}

/** What stands and was not renewed, counted by what it is and why. */
export async function countUnrenewed(db: Database): Promise<UnrenewedCount[]> {
  const { rows } = await sql<UnrenewedCount>`
    select part, reason, withheld, count(*) as parts, min(since) as since
    from unrenewed_part
    group by part, reason, withheld
    order by withheld desc, parts desc, part, reason`.execute(db)
  return rows
}

/** What accepting would remove, counted in the same way. */
export async function countAcceptable(db: Database, filter: PartFilter): Promise<UnrenewedCount[]> {
  const { rows } = await sql<UnrenewedCount>`
    select part, reason, withheld, count(*) as parts, min(since) as since
    from unrenewed_part
    where ${meant(filter)}
    group by part, reason, withheld
    order by parts desc, part, reason`.execute(db)
  return rows
}

export type Accepted = {
  /** Companies and calculators that are tombstoned, also those that went with their company. */
  companies: number
  calculators: number
  values: number
  properties: number
}

/**
 * Removes what stands and was not renewed: what a search showed as absent and was withheld, unless a person has brought
 * it back; or, if the filter names a reason, whatever is marked with it. But no company that a later search, which has
 * not ended, has shown again. What is removed is kept for as long as other removals are, and can be brought back. Waits
 * until no page is being loaded.
 */
export async function acceptRemovals(trx: Transaction<Schema>, filter: PartFilter): Promise<Accepted> {
  await lockLoading(trx, 'exclusive')
  await sql`create temporary table accepted_part on commit drop as select * from unrenewed_part
    where ${meant(filter)}`.execute(trx)
  await sql`
    create temporary table accepted_calculator on commit drop as
    select k.company_key, k.calculator_key, a.submission_id
    from accepted_part a join calculator k using (company_key)
    where k.removed_at is null and (a.part = 'company' or (a.part = 'calculator'
      and a.calculator_key = k.calculator_key))`.execute(trx)
  const calculators = await sql`
    update calculator k set removed_at = statement_timestamp(), changed_at = statement_timestamp()
    where removed_at is null and calculator_key in (select calculator_key from accepted_calculator)`.execute(trx)
  const values = await removeValues(trx)
  const properties = await sql`
    with removed as (
      delete from company_property p using accepted_part a
      where p.company_key = a.company_key and (
        a.part = 'company'
        or (a.part = 'property' and a.property_key = p.property_key and a.ordinal = p.ordinal)
      )
      returning p.*, a.submission_id
    )
    insert into removed_property (company_key, property_key, ordinal, value, submission_id)
    select company_key, property_key, ordinal, value, submission_id from removed`.execute(trx)
  const companies = await sql`
    update company set removed_at = statement_timestamp()
    where removed_at is null and company_key in (select company_key from accepted_part where part = 'company')`.execute(
    trx,
  )
  await sql`
    update company set changed_at = statement_timestamp(), content_hash = null
    where company_key in (select company_key from accepted_part)`.execute(trx)
  await forgetMarksOfGone(trx)
  return {
    companies: Number(companies.numAffectedRows ?? 0),
    calculators: Number(calculators.numAffectedRows ?? 0),
    values,
    properties: Number(properties.numAffectedRows ?? 0),
  }
}

/** With those of the calculators that went. Recorded as changes of the search that showed them as absent. */
async function removeValues(trx: Transaction<Schema>): Promise<number> {
  const { rows } = await sql<{ values: number }>`
    with meant as (
      select v.ctid as place, v.*, a.submission_id
      from accepted_part a
      join calculator_value v using (company_key, calculator_key, direction, variable_key)
      where a.part = 'value'
      union
      select v.ctid, v.*, k.submission_id
      from accepted_calculator k join calculator_value v using (company_key, calculator_key)
    ), removed as (
      delete from calculator_value v using (
        select company_key, calculator_key, direction, variable_key, max(submission_id) as submission_id
        from meant group by 1, 2, 3, 4
      ) m
      where v.company_key = m.company_key and v.calculator_key = m.calculator_key
        and v.direction = m.direction and v.variable_key = m.variable_key
      returning v.*, m.submission_id
    ), kept as (
      insert into removed_value (company_key, calculator_key, direction, variable_key, value, submission_id)
      select company_key, calculator_key, direction, variable_key, value, submission_id from removed
    ), touched as (
      update calculator set changed_at = statement_timestamp()
      where removed_at is null and calculator_key in (select calculator_key from removed)
    ), recorded as (
      insert into calculator_value_change
        (company_key, calculator_key, direction, variable_key, before, after, submission_id, not_renewed_since)
      select company_key, calculator_key, direction, variable_key, value, null, submission_id, ${notRenewedSince}
      from removed v
      where exists (select from history_start)
    )
    select count(*) as values from removed`.execute(trx)
  return Number(rows[0]?.values ?? 0)
}

function meant({ reason, partnerId, runId, since }: PartFilter) {
  const why = reason === undefined ? sql<boolean>`withheld and reason <> 'restored'` : sql<boolean>`reason = ${reason}`
  const when = since === undefined ? sql<boolean>`true` : sql<boolean>`${sinceOfWhole} >= ${since}`
  return sql<boolean>`part = any(${removable}::text[]) and ${why} and ${when} and ${ofPartner(partnerId)}
    and ${ofRun(runId)} and not ${shownAgain}`
}

/** Since when `unrenewed_part` marks a part; of a list of property values, which goes whole, since its first mark. */
const sinceOfWhole = sql<Date>`case when part <> 'property' then since else (
  select min(u.since) from unrenewed_part u
  where u.company_key = unrenewed_part.company_key and u.part = 'property'
    and u.property_key = unrenewed_part.property_key
) end`

/**
 * Whether `unrenewed_part` marks a company that a later search has shown as it was: the mark stays until that search
 * ends, as `settleMarks` says, and proves no longer that the company is gone.
 */
export const shownAgain = sql<boolean>`exists (
  select from search_seen_company z
  where unrenewed_part.part = 'company' and unrenewed_part.reason <> 'restored'
    and z.company_key = unrenewed_part.company_key and z.submission_id > unrenewed_part.submission_id
)`

/** What a person names of what was withheld or removed; what is left out does not matter. */
export type PartFilter = { reason?: string; partnerId?: string; runId?: number; since?: Date }

/** Whether `company_key` is that of a company which a partner id is mapped to; without one, of any. */
export function ofPartner(partnerId: string | undefined) {
  if (partnerId === undefined) return sql<boolean>`true`
  return sql<boolean>`company_key in (
    select company_key from company join mapping using (company_id) where mapping.partner_id = ${partnerId}
  )`
}

/** Whether `submission_id` is a search of the run; without one, any. */
export function ofRun(runId: number | undefined) {
  if (runId === undefined) return sql<boolean>`true`
  return sql<boolean>`submission_id in (select submission_id from submission where run_id = ${runId})`
}
