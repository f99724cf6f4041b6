import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { ReaderError } from './reader-error.ts'

/** What a role may do besides reading the views that it was given: worth a word to the person who gives them. */
export type RoleAbilities = {
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
export async function requireLimitedRole(db: Database, role: string): Promise<void> {
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

export async function abilitiesOf(db: Database, role: string): Promise<RoleAbilities> {
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
