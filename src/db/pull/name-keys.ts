import { sql } from 'kysely'
import type { Database } from '../database.ts'

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
export function createNameKeys(db: Database, of: 'variable' | 'property'): NameKeys {
  const known = new Map<string, number>()
  return {
    keyOf: (id) => known.get(id),
    resolve: async (ids) => {
      const { rows } = await (of === 'variable' ? variableKeys(db, ids) : propertyKeys(db, ids))
      for (const { id, key } of rows) known.set(id, key)
    },
  }
}

type Keyed = { id: string; key: number }

/** Asked first, since an insert that finds its row uses up a key all the same. */
async function variableKeys(db: Database, ids: readonly string[]) {
  await sql`
    insert into calculator_variable (variable_id)
    select id from unnest(${ids}::text[]) as id
    where not exists (select from calculator_variable v where v.variable_id = id)
    on conflict (variable_id) do nothing`.execute(db)
  return await sql<Keyed>`
    select variable_id as id, variable_key as key from calculator_variable
    where variable_id = any(${ids}::text[])`.execute(db)
}

async function propertyKeys(db: Database, ids: readonly string[]) {
  await sql`
    insert into custom_property (property_id)
    select id from unnest(${ids}::text[]) as id
    where not exists (select from custom_property p where p.property_id = id)
    on conflict (property_id) do nothing`.execute(db)
  return await sql<Keyed>`
    select property_id as id, property_key as key from custom_property
    where property_id = any(${ids}::text[])`.execute(db)
}
