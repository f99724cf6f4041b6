import { sql } from 'kysely'
import type { Database } from '../database.ts'

/**
 * Views that are no data for analysis: `actions` names people and their machines, and `drift` and `ledger` have rows as
 * the partner's database had them, with whatever a stream's query selects. A role reads them only if a person says so.
 */
export const reservedViews: readonly string[] = ['actions', 'drift', 'ledger']

/**
 * The views of the schema, in the order of their names: what people query. The tables under them are not among them.
 */
export async function viewsOfSchema(db: Database): Promise<string[]> {
  const { rows } = await sql<{ view: string }>`
    select relname as view from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'v'
    order by relname collate "C"`.execute(db)
  return rows.map(({ view }) => view)
}
