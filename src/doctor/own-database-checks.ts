import { statfs } from 'node:fs/promises'
import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { connectionRoom, copyInUse, newestCopy } from '../db/own-server.ts'
import { requireSchema, SchemaMismatch, schemaName } from '../db/schema-standing.ts'
import { postgresEncryption } from '../partner/examination.ts'
import {
  judgeConnections,
  judgeCopy,
  judgeDisk,
  judgeOwnRights,
  judgeServer,
  judgeTables,
  type RightFacts,
  type ServerFacts,
  type TableFacts,
} from './judge-own-database.ts'
import { advice, type Check, error, judgeEncryption, NotMadeYet, ok, on, warning } from './ward.ts'

export const ownDatabaseChecks: readonly Check[] = [
  {
    id: 'database_reached',
    group: 'database',
    why: 'Everything that Nightferry knows is there.',
    run: async (ward) => {
      await on(ward.config, 'configuration')
      return await ward.own().then(
        () => [ok('Reached')],
        (unreached: Error) => [
          unreached instanceof NotMadeYet
            ? advice(unreached.message, 'nightferry migrate, or the first nightferry run, makes it')
            : error(unreached.message, 'check DATABASE_URL (database.url), and that the server is up'),
        ],
      )
    },
  },
  {
    id: 'database_encryption',
    group: 'database',
    why: 'All that Nightferry knows goes over this connection.',
    run: async (ward) => {
      await on(ward.own, 'database_reached')
      const { url } = (await on(ward.config, 'configuration')).database
      const encryption = url === 'embedded' ? { host: null, encrypted: false } : postgresEncryption(url)
      return judgeEncryption(encryption, '?sslmode=verify-full', 'DATABASE_URL')
    },
  },
  {
    id: 'database_server',
    group: 'database',
    why: 'Nightferry is tested with PostgreSQL 15 to 18, and has to write whatever text a hotel has.',
    run: async (ward) => judgeServer(await serverFacts((await on(ward.own, 'database_reached')).db)),
  },
  {
    id: 'database_rights',
    group: 'database',
    why: 'Nightferry makes and changes its own tables. A role that may not do so stops at the next migration.',
    run: async (ward) => judgeOwnRights(await rightFacts((await on(ward.own, 'database_reached')).db)),
  },
  {
    id: 'database_schema',
    group: 'database',
    why: 'Each version of Nightferry works with one schema.',
    run: async (ward) => {
      const { db } = await on(ward.own, 'database_reached')
      try {
        await requireSchema(db)
        return [ok('The tables are those of this version')]
      } catch (mismatch) {
        if (!(mismatch instanceof SchemaMismatch)) throw mismatch
        if (mismatch.code === 'schema_newer') return [error(mismatch.message, 'use the newer version')]
        const level = mismatch.code === 'schema_missing' ? advice : warning
        return [level(mismatch.message, 'nightferry migrate')]
      }
    },
  },
  {
    id: 'database_connections',
    group: 'database',
    why: 'A night that finds no connection stops in its middle.',
    run: async (ward) => {
      const { db, connectionsNeeded } = await on(ward.own, 'database_reached')
      const { limit, free } = await connectionRoom(db)
      return judgeConnections(limit, free + 1, connectionsNeeded)
    },
  },
  {
    id: 'database_disk',
    group: 'database',
    why: 'A server whose disk is full stops, and everything that uses it.',
    run: async (ward) => {
      const { db, dataFolder } = await on(ward.own, 'database_reached')
      const place = dataFolder === null ? null : await statfs(dataFolder).catch(() => null)
      return judgeDisk(place === null ? null : place.bavail * place.bsize, await databaseBytes(db))
    },
  },
  {
    id: 'database_tables',
    group: 'database',
    why: 'Dead rows are read with the live ones, and without statistics the server guesses: nights become slow.',
    run: async (ward) => {
      const { db } = await on(ward.own, 'database_reached')
      return judgeTables(await tableFacts(db), await serverFacts(db), await oldestTransactionSeconds(db), ward.now())
    },
  },
  {
    id: 'database_restored',
    group: 'database',
    why: 'A ledger from a backup knows nothing of what was sent after it.',
    run: async (ward) => {
      const { db } = await on(ward.ledger, 'database_schema')
      return judgeCopy(await copyInUse(db), await newestCopy(db))
    },
  },
]

export async function serverFacts(db: Database): Promise<ServerFacts> {
  const { rows } = await sql<ServerFacts>`
    select current_setting('server_version_num')::int as version, current_setting('server_version') as shown,
           current_setting('server_encoding') as encoding, pg_is_in_recovery() as standby,
           -- Ours is a session that only reads; what the role and the database say holds for the others.
           coalesce((select bool_or(setting in ('on', 'true', '1'))
                     from pg_db_role_setting s, unnest(s.setconfig) entry,
                          split_part(entry, '=', 2) setting
                     where entry like 'default_transaction_read_only=%'
                       and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
                       and s.setrole in (0, (select oid from pg_roles where rolname = current_user))), false)
                         as read_only,
           current_setting('autovacuum') = 'on' as autovacuum,
           (select age(datfrozenxid) from pg_database where datname = current_database()) as frozen_age`.execute(db)
  const [facts] = rows
  if (facts === undefined) throw new Error('the server says nothing of itself')
  return facts
}

const ownSchemas = [schemaName, `${schemaName}_queue`]

async function rightFacts(db: Database): Promise<RightFacts> {
  const { rows } = await sql<RightFacts>`
    select has_database_privilege(current_database(), 'create') as may_create,
           coalesce((select json_agg(json_build_object('name', nspname, 'owned', pg_has_role(nspowner, 'usage'))
             order by nspname)
                     from pg_namespace where nspname = any(${ownSchemas})), '[]') as schemas,
           (select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = any(${ownSchemas}) and c.relkind in ('r', 'p', 'v', 'S')
              and not pg_has_role(c.relowner, 'usage')) as foreign_tables`.execute(db)
  const [facts] = rows
  if (facts === undefined) throw new Error('the server says nothing of our rights')
  return facts
}

/** Our tables, the largest first. */
export async function tableFacts(db: Database): Promise<TableFacts[]> {
  const { rows } = await sql<TableFacts>`
    select format('%I.%I', schemaname, relname) as table, pg_total_relation_size(relid) as bytes,
           n_live_tup as live, n_dead_tup as dead,
           greatest(last_vacuum, last_autovacuum) as vacuumed_at,
           greatest(last_analyze, last_autoanalyze) as analyzed_at
    from pg_stat_user_tables where schemaname = any(${ownSchemas})
    order by bytes desc, relname`.execute(db)
  return rows
}

/** Bytes of the whole database. */
export async function databaseBytes(db: Database): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(db)
  return rows[0]?.bytes ?? 0
}

/** How long ago the oldest open transaction of the database began, in seconds; null where there is none but ours. */
async function oldestTransactionSeconds(db: Database): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from clock_timestamp() - min(xact_start))::float8 as seconds
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`.execute(db)
  return rows[0]?.seconds ?? null
}
