import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'

type KeyedTable = 'company' | 'calculator'

/** Keys taken ahead at most: a round trip costs as much as some thousands of them. */
const blockSize: Record<KeyedTable, number> = { company: 1_000, calculator: 8_000 }

type Blocks = {
  left: number[]
  /** How many were asked for so far. */
  used: number
  /** The next block, asked for while this one is used up. */
  next: Promise<number[]> | null
}

/**
 * Surrogate keys ahead of their rows, taken from the tables' own sequences in blocks. Keys that were taken and not used
 * are lost, and there are two thousand million of them: a page with one new company takes one, and none takes more
 * ahead than it has used, or every night's pages would use up thousands each.
 */
export function createKeyBlocks(db: Database): { take(table: KeyedTable, count: number): Promise<number[]> } {
  const blocks: Record<KeyedTable, Blocks> = {
    company: { left: [], used: 0, next: null },
    calculator: { left: [], used: 0, next: null },
  }
  return {
    take: async (table, count) => {
      const block = blocks[table]
      const ahead = Math.min(block.used, blockSize[table])
      block.used += count
      if (block.left.length < count && block.next !== null) {
        block.left = block.left.concat(await block.next)
        block.next = null
      }
      const missing = count - block.left.length
      if (missing > 0) block.left = block.left.concat(await nextKeys(db, table, Math.max(missing, ahead)))
      const taken = block.left.splice(0, count)
      if (block.left.length < ahead / 2 && block.next === null) {
        block.next = nextKeys(db, table, ahead)
        // Anyone who takes from it is told.
        block.next.catch(() => {})
      }
      return taken
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
    with named as materialized (
      select pg_get_serial_sequence(${table}, ${`${table}_key`})::regclass as sequence
    )
    select array(
      select nextval(sequence)::integer from named, generate_series(1, ${count}::integer)
    ) as keys`.execute(db)
  return rows[0]?.keys ?? []
}
