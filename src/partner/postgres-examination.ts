import type pg from 'pg'
import type { PartnerOptions } from './dialect.ts'
import { type PartnerExamination, type PartnerRights, type PartnerTable, tablesOf, toldRights } from './examination.ts'
import { unreachable } from './partner-errors.ts'
import { requireVersion } from './postgres-cursor.ts'
import { isOurSession, postgresClient } from './postgres-snapshot.ts'

/**
 * A read-only session of a PostgreSQL server.
 * @throws {PartnerDatabaseError} `partner_too_old` where no snapshot of it could be read.
 */
export async function examinePostgres(options: PartnerOptions): Promise<PartnerExamination> {
  const client = postgresClient(options, 'nightferry doctor')
  try {
    await client.connect()
    await requireVersion(client, options.url)
    // Behind a pooler the session is not ours to set; what is asked here only reads.
    if (await isOurSession(client)) {
      await client.query(`set default_transaction_read_only = on; set datestyle = 'ISO'`)
      await client.query(`select set_config('statement_timeout', $1, false)`, [String(options.statementTimeoutMs)])
    }
    const { rows } = await client.query<{ version: string }>(
      `select split_part(version(), ' ', 1) || ' ' || current_setting('server_version') as version`,
    )
    return {
      product: rows[0]?.version ?? 'PostgreSQL',
      rights: () => rightsOf(client),
      clock: async () => {
        const asked = await client.query<{ ms: string }>(
          'select (1000 * extract(epoch from clock_timestamp()))::text as ms',
        )
        return Number(asked.rows[0]?.ms)
      },
      tables: () => tablesIn(client),
      close: async () => {
        await client.end().catch(() => {})
      },
    }
  } catch (error) {
    await client.end().catch(() => {})
    throw unreachable(options.url, error)
  }
}

/** Schemas of the server itself, and those of sessions. */
const ofServer = `n.nspname in ('pg_catalog', 'information_schema') or n.nspname ~ '^pg_(toast|temp)'`

async function rightsOf(client: pg.Client): Promise<PartnerRights> {
  const who = await client.query<{ administrator: string }>(
    'select rolsuper::text as administrator from pg_roles where rolname = current_user',
  )
  const { rows } = await client.query<{ what: string }>(
    `select 'write ' || format('%I.%I', n.nspname, c.relname) as what
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'f') and not (${ofServer}) and has_schema_privilege(n.oid, 'usage')
       and (has_table_privilege(c.oid, 'insert, update, delete, truncate')
            or has_any_column_privilege(c.oid, 'insert, update'))
     union all
     select 'make tables in the schema ' || quote_ident(n.nspname)
     from pg_namespace n where not (${ofServer}) and has_schema_privilege(n.oid, 'create')
     union all
     select 'make schemas in the database' where has_database_privilege(current_database(), 'create')
     order by 1`,
  )
  return toldRights(
    rows.map(({ what }) => what),
    { administrator: who.rows[0]?.administrator === 'true' },
  )
}

async function tablesIn(client: pg.Client): Promise<PartnerTable[]> {
  const { rows } = await client.query<{ schema: string; table: string; column: string; type: string }>(
    `select n.nspname as schema, c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type
     from pg_class c
     join pg_namespace n on n.oid = c.relnamespace
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition and not (${ofServer})
       and has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select')
     order by n.nspname is distinct from current_schema(), n.nspname, c.relname, a.attnum`,
  )
  return tablesOf(rows)
}
