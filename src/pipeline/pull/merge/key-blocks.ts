import { sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import { lockNames } from '../../../db/locks/advisory-lock.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { NamedKind } from '../../../db/tables/history-tables.ts'
import { isNamed, namedKey, namedRows, oneSpelling } from './name-spelling.ts'

const keyedTables = ['company', 'calculator'] as const
type KeyedTable = (typeof keyedTables)[number]

/** Keys of each table, in ascending order. */
export type Keys = Record<KeyedTable, number[]>

export type KeyBlocks = {
  /** One call at a time. Rejects where keys could not be had. */
  take(counts: Record<KeyedTable, number>): Promise<Keys>
}

/** Keys taken ahead at most: a round trip costs as much as some thousands of them. */
const blockSize: Record<KeyedTable, number> = { company: 1_000, calculator: 8_000 }

/**
 * Surrogate keys ahead of their rows, taken from the tables' own sequences in blocks. Keys that were taken and not used
 * are lost, and there are two thousand million of them: a page with one new company takes one, and none takes more
 * ahead than it has used, or every night's pages would use up thousands each.
 */
export function createKeyBlocks(db: Database): KeyBlocks {
  const left: Keys = { company: [], calculator: [] }
  const used = { company: 0, calculator: 0 }
  /** The next blocks, asked for while these are used up. */
  let next: Promise<Keys> | null = null

  const add = (keys: Keys) => {
    for (const table of keyedTables) left[table] = left[table].concat(keys[table])
  }
  return {
    take: async (counts) => {
      const ahead = {
        company: Math.min(used.company, blockSize.company),
        calculator: Math.min(used.calculator, blockSize.calculator),
      }
      const missing = (table: KeyedTable) => counts[table] - left[table].length
      const lacks = () => keyedTables.some((table) => missing(table) > 0)
      if (lacks() && next !== null) {
        add(await next)
        next = null
      }
      if (lacks()) {
        add(await nextKeys(db, (table) => (missing(table) > 0 ? Math.max(missing(table), ahead[table]) : 0)))
      }
      const taken = {
        company: left.company.splice(0, counts.company),
        calculator: left.calculator.splice(0, counts.calculator),
      }
      for (const table of keyedTables) used[table] += counts[table]
      const isLow = (table: KeyedTable) => left[table].length < ahead[table] / 2
      if (next === null && keyedTables.some(isLow)) {
        next = nextKeys(db, (table) => (isLow(table) ? ahead[table] : 0))
        // Anyone who takes from it is told.
        next.catch(() => {})
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

/** Takes keys of both tables in one round trip; they come as a range, unless others took some in between. */
async function nextKeys(db: Database, count: (table: KeyedTable) => number): Promise<Keys> {
  const { rows } = await sql<{ name: KeyedTable; first: number; last: number; keys: number[] | null }>`
    with asked as materialized (
      select name, wanted, pg_get_serial_sequence(name, name || '_key')::regclass as sequence
      from unnest(${keyedTables}::text[], ${keyedTables.map(count)}::integer[]) as listed(name, wanted)
    )
    select name, min(key) as first, max(key) as last,
      case when max(key) - min(key) >= count(*) then array_agg(key) end as keys
    from asked, lateral (select nextval(sequence)::integer as key from generate_series(1, wanted)) taken
    group by name`.execute(db)
  const taken: Keys = { company: [], calculator: [] }
  for (const { name, first, last, keys } of rows) {
    taken[name] = keys?.toSorted((a, b) => a - b) ?? Array.from({ length: last - first + 1 }, (_, at) => first + at)
  }
  return taken
}

/** The keys of the variables or custom properties that a page refers to. */
export type NameKeys = {
  /** Undefined until the id was resolved. */
  keyOf(id: string): number | undefined
  /** Finds or makes the keys of these ids. */
  resolve(ids: readonly string[]): Promise<void>
}

/**
 * Keys are made outside the page's transaction, without their names: pages that load side by side would wait for each
 * other's end otherwise. The name comes with the page, so that of a page that fails nothing shows.
 */
export function createNameKeys(db: Database, of: NamedKind): NameKeys {
  const known = new Map<string, number>()
  return {
    keyOf: (id) => known.get(id),
    resolve: async (ids) => {
      for (const { id, key } of await nameKeys(db, of, ids)) if (key !== null) known.set(id, key)
    },
  }
}

/**
 * Makes the keys of what the staged page lists and nobody has named yet, outside its transaction as well. Were they
 * made in it, another page would wait for its end on a connection whose lock the server does not connect with that
 * page's own: if this page then waited for a company of that one, neither would ever end, and no deadlock be found.
 * @returns false when there are more than `most` of them: nothing was made then.
 */
export async function makeListedNames(trx: Transaction<Schema>, db: Database, most: number): Promise<boolean> {
  const { rows } = await sql<{ variables: string[]; properties: string[] }>`
    select array(
      select distinct id from staged_variable_name where not ${isNamed('variable', sql`id`)} limit ${most + 1}
    ) as variables, array(
      select distinct id from staged_property_name where not ${isNamed('property', sql`id`)} limit ${most + 1}
    ) as properties`.execute(trx)
  const { variables = [], properties = [] } = rows[0] ?? {}
  if (variables.length > most || properties.length > most) return false
  if (variables.length > 0) await makeNames(db, 'variable', variables)
  if (properties.length > 0) await makeNames(db, 'property', properties)
  return true
}

type Keyed = { id: string; key: number | null }

/** Asked first: mostly all have a row, and an insert that finds its row uses up a key all the same. */
async function nameKeys(db: Database, kind: NamedKind, ids: readonly string[]): Promise<readonly Keyed[]> {
  const known = await findNames(db, kind, ids)
  if (known.every(({ key }) => key !== null)) return known
  await makeNames(db, kind, ids)
  return await findNames(db, kind, ids)
}

async function findNames(db: Database, kind: NamedKind, ids: readonly string[]): Promise<readonly Keyed[]> {
  const { rows } = await sql<Keyed>`
    select id, ${namedKey(kind, sql`id`)} as key from unnest(${ids}::text[]) as id`.execute(db)
  return rows
}

/**
 * One page at a time, which looks once it is its turn: two that meet an id in two spellings would make two rows of it.
 * What it waits for is no page's transaction.
 */
async function makeNames(db: Database, kind: NamedKind, ids: readonly string[]): Promise<void> {
  const { table, id: column } = namedRows[kind]
  await db.transaction().execute(async (trx) => {
    await lockNames(trx)
    await sql`
      insert into ${table} (${column})
      select id from (
        select distinct on (${oneSpelling(sql`id`)}) id from unnest(${ids}::text[]) as id
        where not ${isNamed(kind, sql`id`)}
        order by ${oneSpelling(sql`id`)}, id
      ) missing
      order by id
      on conflict (${column}) do nothing`.execute(trx)
  })
}
