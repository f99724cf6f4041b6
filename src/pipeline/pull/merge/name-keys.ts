import { sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'

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

/**
 * Makes the keys of what the staged page lists and nobody has named yet, outside its transaction as well. Were they
 * made in it, another page would wait for its end on a connection whose lock the server does not connect with that
 * page's own: if this page then waited for a company of that one, neither would ever end, and no deadlock be found.
 * @returns false when there are more than `most` of them: nothing was made then.
 */
export async function makeListedNames(trx: Transaction<Schema>, db: Database, most: number): Promise<boolean> {
  const { rows } = await sql<{ variables: string[]; properties: string[] }>`
    select array(
      select id from staged_variable_name except select variable_id from calculator_variable limit ${most + 1}
    ) as variables, array(
      select id from staged_property_name except select property_id from custom_property limit ${most + 1}
    ) as properties`.execute(trx)
  const { variables = [], properties = [] } = rows[0] ?? {}
  if (variables.length > most || properties.length > most) return false
  if (variables.length > 0) await variableKeys(db, variables)
  if (properties.length > 0) await propertyKeys(db, properties)
  return true
}

type Keyed = { id: string; key: number }

/**
 * Asked first, since an insert that finds its row uses up a key all the same. In the order of ids, as `mergeNames`
 * does: pages that meet the same new ids in another order would wait for each other.
 */
async function variableKeys(db: Database, ids: readonly string[]) {
  await sql`
    insert into calculator_variable (variable_id)
    select id from unnest(${ids}::text[]) as id
    where not exists (select from calculator_variable v where v.variable_id = id)
    order by id
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
    order by id
    on conflict (property_id) do nothing`.execute(db)
  return await sql<Keyed>`
    select property_id as id, property_key as key from custom_property
    where property_id = any(${ids}::text[])`.execute(db)
}
