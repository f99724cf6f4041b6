import { sql } from 'kysely'
import type { PartnerOptions } from './dialect.ts'
import { examinationIn, type PartnerExamination, type PartnerRights, toldRights } from './examination.ts'
import { type MysqlSession, openMysqlSession } from './mysql-session.ts'
import { inSession } from './server-session.ts'

/** A session of a MySQL or MariaDB server that only asks. */
export async function examineMysql(options: PartnerOptions): Promise<PartnerExamination> {
  return await inSession(options, openMysqlSession, async (session) => {
    const version = (await session.ask(sql`select version()`)).rows[0]?.[0] ?? ''
    const isMariadb = version.includes('MariaDB')
    const limit = options.statementTimeoutMs
    await session.ask(
      isMariadb
        ? sql`set session max_statement_time = ${sql.lit(limit / 1000)}`
        : sql`set session max_execution_time = ${sql.lit(limit)}`,
    )
    return examinationIn(session, {
      product: isMariadb ? `MariaDB ${version.replace(/-MariaDB.*/, '')}` : `MySQL ${version}`,
      clock: sql`select cast(1000 * unix_timestamp(sysdate(6)) as char)`,
      columns: sql`
        select table_schema, table_name, column_name, column_type from information_schema.columns
        where table_schema not in ('information_schema', 'performance_schema', 'mysql', 'sys')
        order by table_schema, table_name, ordinal_position`,
      rightsOf,
    })
  })
}

/** Privileges with which nothing can be written. */
const reading = ['SELECT', 'USAGE', 'PROCESS', 'SHOW DATABASES', 'SHOW VIEW', 'REPLICATION CLIENT', 'BINLOG MONITOR']

/** What was granted to the account itself; a role that was granted to it is named, not followed. */
async function rightsOf(session: MysqlSession): Promise<PartnerRights> {
  const harmless = sql.join(reading.map((name) => sql.lit(name)))
  const ours = sql`concat('''', substring_index(current_user(), '@', 1), '''@''',
    substring_index(current_user(), '@', -1), '''')`
  const { rows } = await session.ask(sql`
    select lower(privilege_type), 'everything' as what, 0 as broad from information_schema.user_privileges
    where grantee = ${ours} and privilege_type not in (${harmless})
    union all
    select lower(privilege_type), concat('the database ', table_schema), 1 from information_schema.schema_privileges
    where grantee = ${ours} and privilege_type not in (${harmless})
    union all
    select lower(privilege_type), concat(table_schema, '.', table_name), 2 from information_schema.table_privileges
    where grantee = ${ours} and privilege_type not in (${harmless})
    union all
    select lower(privilege_type), concat(table_schema, '.', table_name, '.', column_name), 3
    from information_schema.column_privileges
    where grantee = ${ours} and privilege_type not in (${harmless})
    order by 3, 2, 1`)
  const roles = await session.ask(sql`
    select role_name from information_schema.enabled_roles where role_name is not null and role_name <> 'NONE'`)
  const administrator = rows.some(([privilege, what]) => privilege === 'super' && what === 'everything')
  const named = roles.rows.map(([role]) => role).join(', ')
  return toldRights(
    rows.map(([privilege, what]) => `${privilege} on ${what}`),
    { administrator, untold: named === '' ? null : `what its roles (${named}) may do` },
  )
}
