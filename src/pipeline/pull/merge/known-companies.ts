import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'

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
 * Notes what the staged page has shown of the search. A company of which nothing else stands is seen whole; otherwise
 * its calculators are noted one by one, and the end of the search judges the rest. Where a company could not be read,
 * or one of its calculators not be identified, everything that is known of it counts as seen: nothing there is proven
 * absent. How often and how far the search has shown a company by now stands in staged_company, too.
 */
export async function markSeen(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<void> {
  await sql`
    with seen as (
      insert into search_seen_company (submission_id, company_key, whole)
      select ${submissionId}::bigint, s.company_key, not (s.readable and s.complete) or not exists (
        select from calculator k
        where k.company_key = s.company_key and k.removed_at is null
          and ${ofSelectedType(calculatorTypeIds)}
          and not exists (select from staged_calculator t where t.calculator_key = k.calculator_key)
      )
      from staged_company s where s.company_key is not null
      on conflict (submission_id, company_key) do update
      set pages = search_seen_company.pages + 1, whole = search_seen_company.whole or excluded.whole
      returning company_key, pages, whole
    )
    update staged_company s set seen_pages = seen.pages, seen_whole = seen.whole
    from seen where s.company_key = seen.company_key`.execute(trx)
  await sql`
    insert into search_seen_calculator (submission_id, calculator_key)
    select ${submissionId}::bigint, k.calculator_key
    from staged_calculator k
    join staged_company s using (company_ordinal)
    where k.calculator_key is not null and not s.seen_whole
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
    insert into search_seen_company (submission_id, company_key, whole)
    select ${submissionId}::bigint, company_key, true from unnest(${companyKeys}::integer[]) as company_key`.execute(
    trx,
  )
}

/**
 * What is staged and concerns more than the companies of this page, or one of them twice; undefined if nothing.
 * Such a page is loaded with care. The answer is a stable code, kept with the page.
 */
export async function findTrouble(trx: Transaction<Schema>, submissionId: number): Promise<string | undefined> {
  const { rows } = await sql<{ trouble: string }>`
    select 'company_twice' as trouble where exists (
      select from staged_company group by company_id having count(*) > 1
    )
    union all
    select 'company_on_many_pages' where exists (
      select from staged_company s join company c using (company_id)
      where c.on_many_pages or ${seenBy(submissionId, sql`c.company_key`)}
    )
    union all
    select 'calculator_twice' where exists (
      select from staged_calculator group by calculator_id having count(*) > 1
    )
    union all
    select 'calculator_of_other_company' where exists (
      select from staged_calculator s
      join calculator k using (calculator_id)
      join staged_company owner using (company_ordinal)
      left join company c on c.company_id = owner.company_id
      where k.company_key is distinct from c.company_key
    )
    limit 1`.execute(trx)
  return rows[0]?.trouble
}

/**
 * Whether no merged company is on another page of the search that was loaded while this one was: `findTrouble` could
 * not see that page yet, and what it holds may have been removed. To be asked when the merge has marked what it has
 * seen.
 */
export async function checkShownOnce(trx: Transaction<Schema>): Promise<boolean> {
  const { rows } = await sql<{ again: boolean }>`
    select exists (select from staged_company where seen_pages > 1) as again`.execute(trx)
  return rows[0]?.again === false
}

/** Keeps the names that the page listed under `listingKey`, once they are merged. */
export async function keepListing(trx: Transaction<Schema>, listingKey: number): Promise<void> {
  await sql`
    insert into page_listing (listing_key, variable_keys, property_keys) overriding system value
    select ${listingKey}::integer,
      array(select variable_key from calculator_variable where variable_id in (select id from staged_variable_name)),
      array(select property_key from custom_property where property_id in (select id
        from staged_property_name))`.execute(trx)
}

type ReferredNames = { variables: readonly number[]; properties: readonly number[] }

/**
 * Whether the page lists every name that its companies refer to: those that were written straight into the tables by
 * what they `referred` to; the unchanged ones by what was listed when they were read, and, where that is listed no
 * longer, by their rows.
 */
export async function checkListed(
  trx: Transaction<Schema>,
  referred: ReferredNames,
  unchanged: ReadonlyMap<number, readonly number[]>,
): Promise<boolean> {
  const { rows } = await sql<{ missing: boolean }>`
    ${withListedNames}
    select exists (
      select key from unnest(${referred.variables}::integer[]) as key
      except select key from listed_name where of = 'v'
    ) or exists (
      select key from unnest(${referred.properties}::integer[]) as key
      except select key from listed_name where of = 'p'
    ) as missing`.execute(trx)
  if (rows[0]?.missing !== false) return false

  if (unchanged.size === 0) return true
  const { rows: narrower } = await sql<{ listing_key: number; variable_keys: number[]; property_keys: number[] }>`
    ${withListedNames}
    select listing_key, gone.variable_keys, gone.property_keys
    from page_listing, lateral (
      select array(select unnest(variable_keys) except select key from listed_name where of = 'v') as variable_keys,
             array(select unnest(property_keys) except select key from listed_name where of = 'p') as property_keys
    ) gone
    where listing_key = any(${[...unchanged.keys()]}::integer[])
      and (cardinality(gone.variable_keys) > 0 or cardinality(gone.property_keys) > 0)`.execute(trx)
  for (const { listing_key, variable_keys, property_keys } of narrower) {
    const companyKeys = unchanged.get(listing_key) ?? []
    const { rows: used } = await sql<{ used: boolean }>`
      select exists (
        select from calculator_value
        where company_key = any(${companyKeys}::integer[]) and variable_key = any(${variable_keys}::integer[])
      ) or exists (
        select from company_property
        where company_key = any(${companyKeys}::integer[]) and property_key = any(${property_keys}::integer[])
      ) as used`.execute(trx)
    if (used[0]?.used !== false) return false
  }
  return true
}

/** The keys of the names that the page lists. */
const withListedNames = sql`
  with listed_name as materialized (
    select 'v' as of, variable_key as key from calculator_variable
    where variable_id in (select id from staged_variable_name)
    union all
    select 'p', property_key from custom_property where property_id in (select id from staged_property_name)
  )`

/** Whether a calculator is of a type that the search selected (its `calculatorTypeIds`); no types select all. */
export function ofSelectedType(calculatorTypeIds: readonly string[]): RawBuilder<boolean> {
  return sql`(cardinality(${calculatorTypeIds}::uuid[]) = 0 or type_id = any(${calculatorTypeIds}::uuid[]))`
}
