import { sql } from 'kysely'
import type { Database } from '../database.ts'

export type KeyedTable = 'company' | 'calculator'

/** Keys taken at once where fewer are needed: a round trip costs as much as some thousands of them. */
const blockSize = 2_000

/**
 * Surrogate keys ahead of their rows, taken from the tables' own sequences in blocks. Keys that were taken and not used
 * are lost: there are two thousand million of them.
 */
export function createKeyBlocks(db: Database): { take(table: KeyedTable, count: number): Promise<number[]> } {
  const left: Record<KeyedTable, number[]> = { company: [], calculator: [] }
  return {
    take: async (table, count) => {
      const keys = left[table]
      if (keys.length < count) keys.push(...(await nextKeys(db, table, Math.max(count - keys.length, blockSize))))
      return keys.splice(0, count)
    },
  }
}

/** A key for the names of one page. */
export async function nextListingKey(db: Database): Promise<number> {
  const { rows } = await sql<{ key: number }>`
    select nextval(pg_get_serial_sequence('page_listing', 'listing_key'))::integer as key`.execute(db)
  if (rows[0] === undefined) throw new Error('the sequence gave no key')
  return rows[0].key
}

async function nextKeys(db: Database, table: KeyedTable, count: number): Promise<number[]> {
  const { rows } = await sql<{ keys: number[] }>`
    select array(
      select nextval(sequence)::integer from generate_series(1, ${count}::integer)
    ) as keys
    from (select pg_get_serial_sequence(${table}, ${`${table}_key`})::regclass as sequence) named`.execute(db)
  return rows[0]?.keys ?? []
}
