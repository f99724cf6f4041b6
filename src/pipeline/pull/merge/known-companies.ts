import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'

/** A company whose bytes are those of the last time. */
export type UnchangedCompany = {
  company_key: number
  content_hash: string
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
    select company_key, content_hash, listing_key, calculators, values
    from company where content_hash = any(${arrayOf(hashes)}::uuid[]) and listing_key is not null`.execute(db)
  return new Map(rows.map((row) => [row.content_hash, row]))
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
