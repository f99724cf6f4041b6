import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'

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
