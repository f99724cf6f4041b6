import pg from 'pg'
import { markPattern } from './canaries.ts'

/** What these tables are for: the addresses that pages and results are fetched from, signed. */
const holdSignatures = ['search_page', 'submission']

/** Tables that Nightferry made in a database of which a row holds a secret. None if the database is gone. */
export async function keptSecrets(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'nightferry tests' })
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    if ((error as pg.DatabaseError).code === '3D000') return []
    throw error
  }
  try {
    const { rows: tables } = await client.query<{ schema: string; name: string }>(
      `select nspname as schema, relname as name from pg_class join pg_namespace n on n.oid = relnamespace
       where nspname like 'nightferry%' and relkind = 'r'`,
    )
    if (tables.length === 0) return []
    const looks = tables.map(({ schema, name }) => {
      const pattern = holdSignatures.includes(name) ? markPattern : `${markPattern}|signature=[A-Za-z0-9_-]{16}`
      return `select ${client.escapeLiteral(`${schema}.${name}`)} as place
              where exists (select from ${client.escapeIdentifier(schema)}.${client.escapeIdentifier(name)} t
                            where t::text ~ ${client.escapeLiteral(pattern)})`
    })
    const { rows } = await client.query<{ place: string }>(looks.join(' union all '))
    return rows.map(({ place }) => place)
  } finally {
    await client.end()
  }
}
