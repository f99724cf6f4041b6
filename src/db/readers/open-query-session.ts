import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { endWithClient, ofOurs, setForSession } from '../database.ts'
import { schemaName } from '../migrate-to-latest.ts'
import { ReaderError } from './grant-reading.ts'

type QuerySession = {
  client: pg.Client
  /**
   * What a person should know of the rights that the query has; null: it can read Nightferry's tables and nothing else.
   */
  notice: string | null
}

/** Every value as the server prints it. */
const asText: pg.CustomTypesConfig = { getTypeParser: () => String as unknown as typeof pg.types.getTypeParser }

/**
 * Opens a session for one query of a person: a read-only transaction under a role that can read Nightferry's tables and
 * views and nothing else. The role logs in itself, so no `reset role` in the query leads to a stronger one.
 *
 * On a server where our own role may not make such a role the query runs as our own, if that can do little more.
 * @throws {ReaderError} `query_not_limited` where it can do much more.
 */
export async function openQuerySession(url: string): Promise<QuerySession> {
  const owner = new pg.Client({ connectionString: url, application_name: 'nightferry sql' })
  owner.on('error', () => {})
  await owner.connect()
  try {
    await setForSession(owner, { ...ofOurs, timezone: 'UTC' })
    const login = await openQueryLogin(owner)
    if (login !== null) {
      try {
        const reader = await connectAs(url, login.role, login.password)
        if (reader !== null) return { client: await readOnly(reader), notice: null }
      } finally {
        await login.close()
      }
    }
    const powers = await ownPowers(owner)
    const { rows } = await owner.query<{ role: string }>('select current_user as role')
    const role = rows[0]?.role ?? ''
    const why =
      login === null
        ? `${role} may not make a role for queries`
        : `the server does not let the role ${login.role}, which is made for queries, log in`
    if (powers.length > 0) {
      throw new ReaderError(
        'query_not_limited',
        `Nothing was asked: ${why}, and a query as ${role} could do more than read (${powers.join(', ')}). Use a client of your own as a role that nightferry grant lets read the views.`,
      )
    }
    return {
      client: await readOnly(await connected(url)),
      notice: `The query runs as ${role}, because ${why}: read-only, but with everything that ${role} may read.`,
    }
  } finally {
    await owner.end()
  }
}

/** In a transaction that has asked something already: none of its statements can make it writable any more. */
async function readOnly(client: pg.Client): Promise<pg.Client> {
  await client.query('begin read only')
  await client.query('select 1')
  return client
}

/** Null where the server, or a pooler before it, does not let the role in. */
async function connectAs(url: string, role: string, password: string): Promise<pg.Client | null> {
  const address = new URL(url)
  address.username = role
  address.password = password
  for (const name of ['user', 'password']) address.searchParams.delete(name)
  // An address without a host, such as a socket's, takes no user.
  if (address.username !== role) return null
  try {
    return await connected(address.href)
  } catch (error) {
    if (/^(28|08P01$|42501$)/.test((error as { code?: string }).code ?? '')) return null
    throw error
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'nightferry sql',
    types: asText,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const session = { search_path: schemaName, timezone: 'UTC', default_transaction_read_only: 'on' }
    await setForSession(client, { ...ofOurs, ...session })
    await endWithClient(client)
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

/** Who may log in for one query: the password is good until `close`, and for a minute at most. */
type QueryLogin = { role: string; password: string; close(): Promise<void> }

/** What lets a role leave the tables: run programs, reach files of the server, read every table there is. */
const powers = ['pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_read_all_data']

/** SQLSTATE of what our own role may not do. */
const insufficientPrivilege = '42501'

/**
 * One query at a time sets the password of the role, and gives it what came since the last: `select pg_advisory_lock`.
 */
const roleLock = 4_711_021

/**
 * Lets a role of the server log in that reads the tables and views of Nightferry's schemas in this database, and
 * nothing else. The role stays, because making one is the work of an administrator; between queries nobody can log in
 * as it.
 *
 * @returns null where our own role may not make it.
 * @throws {ReaderError} `query_not_limited` where the role is there and may do more: somebody gave it that.
 */
async function openQueryLogin(owner: pg.Client): Promise<QueryLogin | null> {
  await owner.query('select pg_advisory_lock($1)', [roleLock])
  const { rows } = await owner.query<{ role: string }>(
    `select 'nightferry_sql_' || oid as role from pg_database where datname = current_database()`,
  )
  const role = rows[0]?.role ?? 'nightferry_sql'
  const password = randomBytes(24).toString('hex')
  try {
    await makeRole(owner, role)
    await requireNoPowers(owner, role)
    for (const statement of await missingGrants(owner, role)) await owner.query(statement)
    await owner.query(`alter role ${role} login password '${password}' valid until '${await inAMinute(owner)}'`)
  } catch (error) {
    if ((error as { code?: string }).code === insufficientPrivilege) return null
    throw error
  }
  return {
    role,
    password,
    close: async () => {
      await owner.query(`alter role ${role} nologin password null`)
      await owner.query('select pg_advisory_unlock($1)', [roleLock])
    },
  }
}

/** What our own role could do in a query besides reading the tables; empty: nothing that leaves the database. */
async function ownPowers(owner: pg.Client): Promise<string[]> {
  const { rows } = await owner.query<{ power: string }>(
    `select 'superuser' as power from pg_roles where rolname = current_user and rolsuper
     union all
     select rolname from pg_roles where rolname = any($1) and pg_has_role(oid, 'member')`,
    [powers],
  )
  return rows.map(({ power }) => power)
}

async function makeRole(owner: pg.Client, role: string): Promise<void> {
  const { rowCount } = await owner.query('select from pg_roles where rolname = $1', [role])
  if (rowCount === 0) await owner.query(`create role ${role} nologin noinherit`)
}

async function requireNoPowers(owner: pg.Client, role: string): Promise<void> {
  const { rows } = await owner.query<{ powers: string[] }>(
    `select array(
       select power from unnest(array[
         case when r.rolsuper then 'superuser' end, case when r.rolcreaterole then 'createrole' end,
         case when r.rolcreatedb then 'createdb' end, case when r.rolreplication then 'replication' end,
         case when r.rolbypassrls then 'bypassrls' end]) power
       where power is not null
       union all
       select g.rolname from pg_auth_members m join pg_roles g on g.oid = m.roleid where m.member = r.oid
     ) as powers
     from pg_roles r where r.rolname = $1`,
    [role],
  )
  const given = rows[0]?.powers ?? []
  if (given.length === 0) return
  throw new ReaderError(
    'query_not_limited',
    `The role ${role}, as which queries run, was given more than reading: ${given.join(', ')}. Take that away, or drop the role (drop owned by ${role}; drop role ${role}); the next query makes it again.`,
  )
}

/**
 * Statements that give the role what it lacks. Found by a pattern each time, so that a schema or table which came since
 * is there too. The server writes the names, so that it quotes them.
 */
async function missingGrants(owner: pg.Client, role: string): Promise<string[]> {
  const { rows } = await owner.query<{ statement: string }>(
    `with schema as (
       select oid, nspname from pg_namespace
       where (nspname = 'nightferry' or nspname like 'nightferry\\_%') and pg_has_role(nspowner, 'usage')
     )
     select format('grant usage on schema %I to %I', nspname, $1::text) as statement
     from schema where not has_schema_privilege($1, oid, 'usage')
     union all
     select format('grant select on %I.%I to %I', nspname, relname, $1::text)
     from schema join pg_class c on c.relnamespace = schema.oid
     where relkind in ('r', 'p', 'v', 'm', 'f') and not has_table_privilege($1, c.oid, 'select')
     union all
     -- A function in a view is called with the rights of anyone who reads it.
     select format('grant execute on function %s to %I', p.oid::regprocedure, $1::text)
     from schema join pg_proc p on p.pronamespace = schema.oid
     where proname = 'numeric_reading' and not has_function_privilege($1, p.oid, 'execute')`,
    [role],
  )
  return rows.map(({ statement }) => statement)
}

async function inAMinute(owner: pg.Client): Promise<string> {
  const { rows } = await owner.query<{ at: string }>(`select (now() + interval '1 minute')::text as at`)
  return rows[0]?.at ?? 'now'
}
