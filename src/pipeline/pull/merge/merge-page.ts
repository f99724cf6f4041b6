import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { noteStagedProperties } from '../search/requested-properties.ts'
import { claimCalculators, claimCompanies } from './claim-companies.ts'
import { markSeen, ofSelectedType, returnedAt } from './known-companies.ts'
import {
  bringBackRemoved,
  leaveOutLostMonths,
  removeAbsentCalculators,
  updateCalculators,
} from './merge-calculators.ts'
import { keyReferences, mergeNames } from './merge-names.ts'
import { keyProperties, mergeProperties } from './merge-properties.ts'
import { mergeValues } from './merge-values.ts'
import { settleContradictions } from './pages-that-differ.ts'
import { analyzeStaging } from './staging-tables.ts'
import { markWholeParts } from './unrenewed-parts.ts'

export type PageCounts = {
  companies: number
  calculators: number
  values: number
  /**
   * Calculator values that were not here before, that differ from before, that the page leaves out. What an earlier
   * page has removed and this one brings back is taken off: then `removed` may be below 0, and only the sum counts.
   */
  added: number
  changed: number
  removed: number
  quarantined: number
  /** Companies whose bytes were those of the last time, so that nothing of theirs was read. */
  unchanged: number
  /** Why the page was loaded with care; null if it was not. */
  care: string | null
  bytes: number
}

/** What a merge counts: the companies that were staged. */
type MergedCounts = Omit<PageCounts, 'bytes' | 'unchanged' | 'care'>

export type MergeOptions = {
  pageId: number
  submissionId: number
  /** The types that the search selected; empty for all. */
  calculatorTypeIds: readonly string[]
  maxQuarantineRows: number
  /** Below this share of what its companies are known to have, a page removes nothing of that kind. 0 to 1. */
  minSeenShare: number
  /** Companies of the page that are as they were, so that they are not staged. */
  unchangedKeys: readonly number[]
  /** Whether a company of the page was staged; of one whose companies are all new or unchanged only names are. */
  companiesStaged: boolean
  /** Of the names that this page lists. */
  listingKey: number
}

/**
 * Merges the staged page into the tables: every company of the page becomes what the page says, and rows that stand as
 * they are are not written. What the page leaves out against the rules of the specification, or gives in a form that
 * cannot be right, stays and is marked as not renewed; so does all of a kind, where suspiciously little of it is there.
 * Locks are taken in the order companies, names, calculators; see `claimCompanies`.
 */
export async function mergePage(trx: Transaction<Schema>, options: MergeOptions): Promise<MergedCounts> {
  const { pageId, submissionId, calculatorTypeIds, maxQuarantineRows, listingKey } = options
  if (!options.companiesStaged) {
    await mergeNames(trx, pageId, submissionId)
    await noteStagedProperties(trx, pageId)
    const quarantined = await storeQuarantine(trx, pageId, maxQuarantineRows)
    return { companies: 0, calculators: 0, values: 0, added: 0, changed: 0, removed: 0, quarantined }
  }
  await analyzeStaging(trx)
  await claimCompanies(trx, submissionId)
  await mergeNames(trx, pageId, submissionId)
  await keyReferences(trx)
  await keyProperties(trx)
  await claimCalculators(trx, submissionId, calculatorTypeIds)
  await noteStagedProperties(trx, pageId)
  await leaveOutLostMonths(trx)
  await settleContradictions(trx, submissionId, calculatorTypeIds)
  const broughtBack = await bringBackRemoved(trx, submissionId)
  const { values, added, changed, removed } = await mergeValues(trx, options)
  await updateCalculators(trx)
  const removedWithCalculators = await removeAbsentCalculators(trx, options)
  await mergeProperties(trx, options)
  await markWholeParts(trx, submissionId)
  await updateCompanies(trx)
  await markSeen(trx, submissionId, calculatorTypeIds)
  await keepContents(trx, listingKey, calculatorTypeIds)
  const quarantined = await storeQuarantine(trx, pageId, maxQuarantineRows)
  const { companies, calculators } = await countMerged(trx)
  return {
    companies,
    calculators,
    values,
    added,
    changed,
    removed: removed + removedWithCalculators - broughtBack,
    quarantined,
  }
}

async function countMerged(trx: Transaction<Schema>): Promise<{ companies: number; calculators: number }> {
  const { rows } = await sql<{ companies: number; calculators: number }>`
    select
      (select count(*) from staged_company where readable) as companies,
      (select count(*) from staged_calculator where readable) as calculators`.execute(trx)
  return { companies: Number(rows[0]?.companies ?? 0), calculators: Number(rows[0]?.calculators ?? 0) }
}

/**
 * Brings the claimed companies up to the page, after everything of theirs: one that differs in anything is written
 * once, and `changed_at` moves with it. A tombstone is lifted.
 */
async function updateCompanies(trx: Transaction<Schema>): Promise<void> {
  await sql`
    update company c
    set name = coalesce(s.name, c.name), changed_at = statement_timestamp(), removed_at = null,
      ${returnedAt('c')}
    from staged_company s
    where s.readable and c.company_key = s.company_key
      and not exists (select from fresh_company f where f.company_key = c.company_key)
      and (
        (c.name, c.removed_at) is distinct from (coalesce(s.name, c.name), null::timestamptz)
        or c.company_key in (select company_key from touched_company)
      )`.execute(trx)
  // The former companies of calculators that moved: not on this page, or not to be read on it.
  await sql`
    update company c set changed_at = statement_timestamp(), content_hash = null
    where exists (select from touched_company t where t.company_key = c.company_key)
      and not exists (select from staged_company s where s.company_key = c.company_key and s.readable)`.execute(trx)
}

/**
 * Keeps what was left out of the page, at most `maxRows` of it: a page on which everything is wrong must not fill the
 * disk. Companies without an id come first, because over one of them nothing that seems absent is; then the other
 * companies, and calculators.
 * @returns how many things were left out, kept or not.
 */
async function storeQuarantine(trx: Transaction<Schema>, pageId: number, maxRows: number): Promise<number> {
  await trx.deleteFrom('quarantine').where('page_id', '=', pageId).execute()
  await sql`
    insert into quarantine (page_id, unit, company_id, calculator_id, item, reason, excerpt)
    select ${pageId}::bigint, unit, company_id, calculator_id, item, reason, excerpt
    from staged_left_out
    order by case unit when 'company' then (company_id is not null)::integer when 'calculator' then 2 else 3 end, seq
    limit ${maxRows}`.execute(trx)
  const { rows } = await sql<{ rows: number }>`select count(*) as rows from staged_left_out`.execute(trx)
  return Number(rows[0]?.rows ?? 0)
}

/**
 * Notes what each staged company was read from, once it is merged and marked as seen. Where what stands is not just
 * what those bytes say (something was left out, was not renewed, or came from another page), nothing is noted: the
 * company is read again. So it is where it shows a calculator of a type that the search did not select, which has to be
 * noted as seen each time. Of one that could not be read the note goes, so that it is read again when it comes as it
 * was before.
 */
async function keepContents(
  trx: Transaction<Schema>,
  listingKey: number,
  calculatorTypeIds: readonly string[],
): Promise<void> {
  await sql`
    update company c
    set content_hash = s.content_hash, content_bytes = s.content_bytes, calculators = s.calculators, values = s.values,
      listing_key = case when s.content_hash is not null then ${listingKey}::integer end
    from (
      select s.company_key, s.content_bytes, s.calculators, s.values,
        case when s.seen_given and s.seen_pages = 1 and l.company_id is null
          and not exists (select from unrenewed_part u where u.company_key = s.company_key)
          and unselected.company_ordinal is null
          then s.content_hash end as content_hash
      from staged_company s
      left join (select distinct company_id from staged_left_out) l using (company_id)
      left join (
        select distinct company_ordinal from staged_calculator where not ${ofSelectedType(calculatorTypeIds)}
      ) unselected using (company_ordinal)
    ) s
    where c.company_key = s.company_key and c.content_hash is distinct from s.content_hash`.execute(trx)
}
