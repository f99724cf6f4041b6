import { hash } from 'node:crypto'
import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { listedProperties, listedVariables } from './name-spelling.ts'

/** A company whose bytes are those of the last time. */
export type UnchangedCompany = {
  company_key: number
  content_hash: string
  /** How many bytes that hash was made of; null where that was not kept. */
  content_bytes: number | null
  /** The names that were listed on the page that it was read from. */
  listing_key: number
  calculators: number
  values: number
}

/** Companies that were last read from bytes with one of these hashes, by hash. Committed ones alone. */
export async function findByContent(
  db: Database,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, UnchangedCompany>> {
  if (hashes.length === 0) return new Map()
  const { rows } = await sql<UnchangedCompany>`
    select company_key, content_hash, content_bytes, listing_key, calculators, values
    from company where content_hash = any(${arrayOf(hashes)}::uuid[]) and listing_key is not null`.execute(db)
  return new Map(rows.map((row) => [row.content_hash, row]))
}

/** A company that a page will probably show, and what it was read from the last time. */
export type ExpectedCompany = UnchangedCompany & { company_id: string; content_bytes: number }

/**
 * Companies in the order of their keys, which is that of the pages that first showed them.
 * @param from where to begin: at the company with this id, or behind one with this key.
 */
export async function listExpected(
  db: Database,
  from: { companyId: string } | { afterKey: number },
  most: number,
): Promise<ExpectedCompany[]> {
  const begins =
    'companyId' in from
      ? sql`company_key >= (select company_key from company where company_id = ${from.companyId}::uuid)`
      : sql`company_key > ${from.afterKey}::integer`
  const { rows } = await sql<ExpectedCompany>`
    select company_key, company_id, content_hash, content_bytes, listing_key, calculators, values
    from company
    where ${begins} and content_hash is not null and content_bytes is not null and listing_key is not null
    order by company_key limit ${most}`.execute(db)
  return rows
}

/** Notes how many bytes companies were read from, of which that was not kept. */
export async function keepContentBytes(
  db: Database,
  companies: readonly { company_key: number; bytes: number }[],
): Promise<void> {
  if (companies.length === 0) return
  const [keys, bytes] = [companies.map(({ company_key }) => company_key), companies.map((company) => company.bytes)]
  await sql`
    update company c set content_bytes = read.bytes
    from unnest(${keys}::integer[], ${bytes}::integer[]) as read (company_key, bytes)
    where c.company_key = read.company_key and c.content_bytes is null`.execute(db)
}

/** Which of these companies have a row. Committed ones alone. */
export async function findById(db: Database, companyIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (companyIds.length === 0) return new Set()
  const { rows } = await sql<{ company_id: string }>`
    select company_id from company where company_id = any(${arrayOf(companyIds)}::uuid[])`.execute(db)
  return new Set(rows.map(({ company_id }) => company_id))
}

/** UUIDs as the text of an array: the driver would look for quotes in each. */
function arrayOf(uuids: readonly string[]): string {
  return `{${uuids.join(',')}}`
}

/**
 * Notes what the staged page has shown of the search. A company of which nothing else stands is seen whole, and given;
 * otherwise its calculators are noted one by one, and the end of the search judges the rest. So are those that could
 * not be read, which may stand as another company's, and those of a type that the search did not select. Where a
 * company could not be read, or one of its calculators not be identified, everything that is known of it counts as
 * seen, for nothing there is proven absent, but not as given. How often and how far the search has shown a company by
 * now stands in staged_company, too.
 */
export async function markSeen(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<void> {
  await sql`
    with seen as (
      insert into search_seen_company (submission_id, company_key, whole, given)
      select ${submissionId}::bigint, company_key, all_shown or not proving, all_shown and proving
      from (
        select s.company_key, s.readable and s.complete as proving, not exists (
          select from calculator k
          where k.company_key = s.company_key and k.removed_at is null
            and ${ofSelectedType(calculatorTypeIds)}
            and not exists (select from staged_calculator t where t.calculator_key = k.calculator_key)
        ) as all_shown
        from staged_company s where s.company_key is not null
      ) shown
      on conflict (submission_id, company_key) do update
      set pages = search_seen_company.pages + 1, whole = search_seen_company.whole or excluded.whole,
        given = search_seen_company.given or excluded.given
      returning company_key, pages, given
    )
    update staged_company s set seen_pages = seen.pages, seen_given = seen.given
    from seen where s.company_key = seen.company_key`.execute(trx)
  await sql`
    insert into search_seen_calculator (submission_id, calculator_key)
    select ${submissionId}::bigint, k.calculator_key
    from staged_calculator k
    join staged_company s using (company_ordinal)
    where k.calculator_key is not null and case
      when k.readable then not (s.seen_given and ${ofSelectedType(calculatorTypeIds)}) else not k.removed end
    on conflict do nothing`.execute(trx)
}

/**
 * Whether the search has shown a company before: true or null. Written so that the planner looks up one row by its key.
 * It knows nothing of what the search in hand has shown so far, takes that for next to nothing, and would read all of
 * it, once for a page or once for each of its companies.
 */
export function seenBy(submissionId: number, companyKey: RawBuilder<unknown>): RawBuilder<true | null> {
  return sql<true | null>`(
    select true from search_seen_company z
    where z.submission_id = ${submissionId} and z.company_key = ${companyKey}
  )`
}

/**
 * Notes companies of which all that stands has been seen.
 * @throws a unique violation (23505) when the search has shown one of them before.
 */
export async function markWholeSeen(
  trx: Transaction<Schema>,
  submissionId: number,
  companyKeys: readonly number[],
): Promise<void> {
  if (companyKeys.length === 0) return
  await sql`
    insert into search_seen_company (submission_id, company_key, whole, given)
    select ${submissionId}::bigint, company_key, true, true
    from unnest(${companyKeys}::integer[]) as company_key`.execute(trx)
}

/**
 * Notes, one by one, the calculators of new companies whose type the search did not select, as `markSeen` does: a
 * company that is seen whole says nothing of them. It is read again when it comes as it was, for nothing could be noted
 * of a company that is not read.
 */
export async function markUnselectedSeen(
  trx: Transaction<Schema>,
  submissionId: number,
  companyKeys: readonly number[],
  calculatorTypeIds: readonly string[],
): Promise<void> {
  if (companyKeys.length === 0 || calculatorTypeIds.length === 0) return
  await sql`
    with unselected as (
      select company_key, calculator_key from calculator
      where company_key = any(${companyKeys}::integer[]) and not ${ofSelectedType(calculatorTypeIds)}
    ), noted as (
      insert into search_seen_calculator (submission_id, calculator_key)
      select ${submissionId}::bigint, calculator_key from unselected
    )
    update company set content_hash = null where company_key in (select company_key from unselected)`.execute(trx)
}

/** Keeps the names that the page listed under `listingKey`, once they are merged. */
export async function keepListing(trx: Transaction<Schema>, listingKey: number): Promise<void> {
  await sql`
    insert into page_listing (listing_key, variable_keys, property_keys) overriding system value
    select ${listingKey}::integer,
      array(${listedVariables}),
      array(${listedProperties})`.execute(trx)
}

/** Whether a calculator is of a type that the search selected (its `calculatorTypeIds`); no types select all. */
export function ofSelectedType(calculatorTypeIds: readonly string[]): RawBuilder<boolean> {
  return sql`(cardinality(${calculatorTypeIds}::uuid[]) = 0 or type_id = any(${calculatorTypeIds}::uuid[]))`
}

/**
 * Raised by a change of the code that reads other rows from the same bytes: every company is then read again. By
 * itself where types are selected, of which others are noted as seen.
 */
const readingVersion = { allTypes: 2, selectedTypes: 3 }

/** The hash of one company's bytes, in the form of a UUID: the 16 bytes that a database holds without a length. */
export type ContentHash = (bytes: Uint8Array) => string

/** What a company was read from. */
export type Content = { hash: string; bytes: number }

/**
 * A hash under which the same bytes mean the same rows: it differs where the names of the contract do, or the types
 * that the search selects. SHA-256, cut to 128 bits: who could make two companies of one hash would own the service's
 * pages.
 */
export function createContentHash(contract: Contract, calculatorTypeIds: readonly string[]): ContentHash {
  const version = calculatorTypeIds.length === 0 ? readingVersion.allTypes : readingVersion.selectedTypes
  const meaning = JSON.stringify([version, contract.names.calculatorsPage, calculatorTypeIds.toSorted()])
  const salt = hash('sha256', meaning, 'buffer')
  return (bytes) => {
    const digest = hash('sha256', bytes, 'buffer')
    for (let at = 0; at < 16; at++) digest[at] = (digest[at] ?? 0) ^ (salt[at] ?? 0)
    const hex = digest.toString('hex', 0, 16)
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }
}

/**
 * Whether a company, a calculator or a document stood before the search was planned. What the search brought for the
 * first time did not, nor did what was gone and a page of it has shown again. What a person has brought back did: that
 * changes neither moment.
 */
export function stoodBefore(submissionId: number): RawBuilder<boolean> {
  return isBefore(submissionId, sql`coalesce(returned_at, first_seen_at)`)
}

/**
 * Sets when something returned, in an update that lifts the tombstone of what a page shows.
 * @param table the name of the updated table in it.
 */
export function returnedAt(table: string): RawBuilder<unknown> {
  const [removed, returned] = [sql.ref(`${table}.removed_at`), sql.ref(`${table}.returned_at`)]
  return sql`returned_at = case when ${removed} is null then ${returned} else statement_timestamp() end`
}

/** Whether an earlier search was the first to show a company, a calculator or a document, gone since or not. */
export function knownBefore(submissionId: number): RawBuilder<boolean> {
  return isBefore(submissionId, sql`first_seen_at`)
}

/**
 * Whether a moment lies before the search was planned. One that lies ahead of the clock, while the plan does not, does:
 * our database's clock was put back since. Both bounds are looked up once.
 */
function isBefore(submissionId: number, moment: RawBuilder<unknown>): RawBuilder<boolean> {
  const planned = (bound: RawBuilder<unknown>) =>
    sql`(select ${bound} from submission where submission_id = ${submissionId})`
  const ahead = planned(sql`
    case when planned_at <= clock_timestamp() then clock_timestamp() else 'infinity' end`)
  return sql<boolean>`(${moment} < ${planned(sql`planned_at`)} or ${moment} > ${ahead})`
}
