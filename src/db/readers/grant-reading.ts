import { sql, type Transaction } from 'kysely'
import { type Actor, recordAction } from '../actions/record-action.ts'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'

export type ReadingRequest = {
  role: string
  /** Also the views that name people, or show rows as the partner's database had them. */
  all: boolean
  actor: Actor
  at: Date
}

export type Reading = {
  role: string
  /** The views that were granted or revoked. */
  views: string[]
  /** What the role may do afterwards. */
  now: RoleAbilities
}

const insufficientPrivilege = '42501'

/**
 * Lets a role read the views, and nothing under them: a view reads its tables with the rights of its owner. Views
 * that come with a later version need another call.
 * @throws {ReaderError} when the role cannot be given that; nothing was changed then.
 */
export async function grantReading(db: Database, request: ReadingRequest): Promise<Reading> {
  return await change(db, request, 'grant', (views) =>
    views.filter((view) => request.all || !reservedViews.includes(view)),
  )
}

/**
 * Takes away what `grantReading` gave, of all views. What the role may read as a member of another role stays.
 * @throws {ReaderError} when it cannot be taken from the role; nothing was changed then.
 */
export async function revokeReading(db: Database, request: ReadingRequest): Promise<Reading> {
  return await change(db, request, 'revoke', (views) => views)
}

async function change(
  db: Database,
  { role, all, actor, at }: ReadingRequest,
  verb: 'grant' | 'revoke',
  choose: (views: string[]) => string[],
): Promise<Reading> {
  return await db.transaction().execute(async (trx) => {
    await requireLimitedRole(trx, role)
    const views = choose(await viewsOfSchema(trx))
    await execute(trx, await statements(trx, verb, role, views))
    const now = await abilitiesOf(trx, role)
    const missing = verb === 'grant' ? views.filter((view) => !now.views.includes(view)) : []
    if (missing.length > 0) throw refused(`${missing.join(', ')} would stay unreadable to ${role}`)
    const asked = { role, ...(verb === 'grant' && all && { all: 'true' }) }
    await recordAction(trx, { verb, actor, at, rows: views.length, asked, result: views.join(', ') })
    return { role, views, now }
  })
}

/** The server writes the statements, so that it quotes the names: a role may be called anything. */
async function statements(
  trx: Transaction<Schema>,
  verb: 'grant' | 'revoke',
  role: string,
  views: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ statement: string }>`
    with way as (
      select case when ${verb} = 'grant' then 'grant %s to %I' else 'revoke %s from %I' end as template,
        ${role}::text as role, current_schema() as schema
    ), object as (
      select 1 as part, 0 as nth, format('usage on schema %I', schema) as privilege from way
      union all
      select 2, nth::integer, format('select on %I.%I', schema, view)
      from way, unnest(${views}::text[]) with ordinality v(view, nth)
      union all
      -- A function in a view is called with the rights of anyone who reads it.
      select 3, 0, format('execute on function %I.numeric_reading(text)', schema) from way
      union all
      -- The same views of destinations that are not in use.
      select 4, 0, format('usage on schema %I', nspname)
      from pg_namespace where nspname in (select schema_name from destination)
      union all
      select 5, 0, format('select on %I.%I', nspname, view.relname)
      from pg_namespace join pg_class view on view.relnamespace = pg_namespace.oid and view.relkind = 'v'
      where nspname in (select schema_name from destination) and view.relname = any(${views}::text[])
    )
    select format(template, privilege, role) as statement from way, object order by part, nth, privilege`.execute(trx)
  return rows.map(({ statement }) => statement)
}

async function execute(trx: Transaction<Schema>, list: readonly string[]): Promise<void> {
  try {
    for (const statement of list) await sql.raw(statement).execute(trx)
  } catch (error) {
    if ((error as { code?: string }).code !== insufficientPrivilege) throw error
    throw refused((error as Error).message)
  }
}

function refused(detail: string): ReaderError {
  return new ReaderError(
    'grant_refused',
    `Nothing was changed: ${detail}. Only the owner of the views can give or take this: use the role that migrated the database in database.url (DATABASE_URL).`,
  )
}

/** What a role may do besides reading the views that it was given: worth a word to the person who gives them. */
type RoleAbilities = {
  /** Whether it may connect to this database; PostgreSQL lets every role, unless somebody took that away. */
  connects: boolean
  /** Views that it may read, through whichever role or grant. */
  views: string[]
  /** Tables of the schema that it may read, as a member of another role: they should be none. */
  tables: string[]
}

/**
 * Makes sure that a role is one that can be let read and be kept from it.
 * @throws {ReaderError} when there is no such role, or it may read everything whatever is granted.
 */
async function requireLimitedRole(db: Database, role: string): Promise<void> {
  const { rows } = await sql<{ superuser: boolean; owner: boolean }>`
    select r.rolsuper as superuser,
      exists (select from pg_class where relnamespace = current_schema()::regnamespace and relowner = r.oid) as owner
    from pg_roles r where r.rolname = ${role}`.execute(db)
  const found = rows[0]
  if (found === undefined) {
    throw new ReaderError(
      'role_unknown',
      `There is no role ${JSON.stringify(role)} in the server. Make it first, with a password that you choose: create role … login password '…'`,
    )
  }
  if (!found.superuser && !found.owner) return
  const why = found.owner ? 'owns the tables' : 'is a superuser'
  throw new ReaderError(
    'role_not_limited',
    `The role ${JSON.stringify(role)} ${why}, so it reads and writes everything whatever is granted. Name a role of its own for reading.`,
  )
}

async function abilitiesOf(db: Database, role: string): Promise<RoleAbilities> {
  const { rows } = await sql<RoleAbilities>`
    select has_database_privilege(r.oid, current_database(), 'connect') as connects,
      array(
        select c.relname::text from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind = 'v'
          and has_schema_privilege(r.oid, c.relnamespace, 'usage') and has_table_privilege(r.oid, c.oid, 'select')
        order by c.relname collate "C"
      ) as views,
      array(
        select c.relname::text from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
          and has_any_column_privilege(r.oid, c.oid, 'select')
        order by c.relname collate "C"
      ) as tables
    from pg_roles r where r.rolname = ${role}`.execute(db)
  return rows[0] ?? { connects: false, views: [], tables: [] }
}

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

/** Why reading was not granted or revoked, or a query not asked: nothing was changed. */
type ReaderErrorCode =
  /** There is no such role in the server. */
  | 'role_unknown'
  /** The role is the one that owns the views, or may do everything: nothing can be given to it, nor taken away. */
  | 'role_not_limited'
  /** Our own role may not give privileges on the views. */
  | 'grant_refused'
  /** A query could do more than read the tables, and no role can be had that could not. */
  | 'query_not_limited'

/** A role cannot be let read, or kept from it, as things stand. The message says why, and what to do. */
export class ReaderError extends Error {
  readonly code: ReaderErrorCode

  constructor(code: ReaderErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
