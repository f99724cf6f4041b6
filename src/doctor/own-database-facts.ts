import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { schemaName } from '../db/schema-standing.ts'

export type ServerFacts = {
  /** Such as 180001. */
  version: number
  shown: string
  standby: boolean
  read_only: boolean
  autovacuum: boolean
  /** Transactions until the oldest row of the database has to be frozen, of 2 billion. */
  frozen_age: number
}

export async function serverFacts(db: Database): Promise<ServerFacts> {
  const { rows } = await sql<ServerFacts>`
    select current_setting('server_version_num')::int as version, current_setting('server_version') as shown,
           pg_is_in_recovery() as standby,
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

export type RightFacts = {
  may_create: boolean
  /** Of our schemas those that there are, and whether the role owns them. */
  schemas: { name: string; owned: boolean }[]
  /** Tables in them that the role does not own: a migration could not change them. */
  foreign_tables: number
}

const ownSchemas = [schemaName, `${schemaName}_queue`]

export async function rightFacts(db: Database): Promise<RightFacts> {
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

export type TableFacts = {
  table: string
  bytes: number
  live: number
  dead: number
  vacuumed_at: Date | null
  analyzed_at: Date | null
}

/** Our tables, the largest first. */
export async function tableFacts(db: Database): Promise<TableFacts[]> {
  const { rows } = await sql<TableFacts>`
    select relname as table, pg_total_relation_size(relid) as bytes, n_live_tup as live, n_dead_tup as dead,
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
export async function oldestTransactionSeconds(db: Database): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from clock_timestamp() - min(xact_start))::float8 as seconds
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`.execute(db)
  return rows[0]?.seconds ?? null
}

/** Processes that carry rows, or want to, have a connection of this name. */
const atWork = 'nightferry queue'

export async function connectionsAtWork(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and application_name = ${atWork}`.execute(db)
  return rows[0]?.count ?? 0
}
