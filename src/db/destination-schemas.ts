import { sql } from 'kysely'
import type { Database } from './database.ts'
import { schemaName } from './schema-standing.ts'

/** The schemas of the destinations that are there, that in use among them: a backup may have left out what waits. */
export async function destinationSchemas(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from (select coalesce(schema_name, ${schemaName}) as name from destination) known
    where to_regclass(format('%I.acceptance', name)) is not null`.execute(db)
  return rows.map(({ name }) => name)
}
