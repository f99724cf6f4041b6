import { sql } from 'kysely'
import type { PartnerOptions } from './dialect.ts'
import { type PartnerExamination, type PartnerRights, tablesOf, toldRights } from './examination.ts'
import { unreachable } from './partner-database-error.ts'
import { placeOf } from './server-address.ts'
import { openSqlserverSession, type SqlserverSession } from './sqlserver-session.ts'

/** A session of a SQL Server that only asks. */
export async function examineSqlserver(options: PartnerOptions): Promise<PartnerExamination> {
  let session: SqlserverSession | undefined
  try {
    session = await openSqlserverSession(options.url, {
      connectTimeoutMs: options.connectTimeoutMs ?? 15_000,
      statementTimeoutMs: options.statementTimeoutMs,
    })
    const open = session
    const [[version = ''] = []] = await texts(open, sql`select convert(varchar(50), serverproperty('ProductVersion'))`)
    return {
      product: `SQL Server ${version}`,
      rights: () => rightsOf(open),
      clock: async () => {
        const [[ms] = []] = await texts(
          open,
          sql`select convert(varchar(20), datediff_big(millisecond, '19700101', sysutcdatetime()))`,
        )
        return Number(ms)
      },
      tables: async () => {
        const rows = await texts(
          open,
          sql`select table_schema, table_name, column_name, data_type from information_schema.columns
              order by table_schema, table_name, ordinal_position`,
        )
        return tablesOf(
          rows.map(([schema = '', table = '', column = '', type = '']) => ({ schema, table, column, type })),
        )
      },
      close: () => open.close(),
    }
  } catch (error) {
    await session?.close()
    throw unreachable(placeOf(options.url), error)
  }
}

async function texts(
  session: SqlserverSession,
  statement: Parameters<SqlserverSession['ask']>[0],
): Promise<string[][]> {
  const { rows } = await session.ask(statement)
  return rows.map((row) => row.map(({ value }) => String(value)))
}

async function rightsOf(session: SqlserverSession): Promise<PartnerRights> {
  const [[administrator] = []] = await texts(session, sql`select convert(varchar(5), is_srvrolemember('sysadmin'))`)
  const rows = await texts(
    session,
    sql`select lower(permission_name) + ' in the database' from fn_my_permissions(null, 'DATABASE')
        where permission_name in ('INSERT', 'UPDATE', 'DELETE', 'ALTER', 'CONTROL') or permission_name like 'CREATE %'
        union all
        select 'write ' + quotename(s.name) + '.' + quotename(o.name)
        from sys.objects o join sys.schemas s on s.schema_id = o.schema_id
        where o.type in ('U', 'V')
          and 1 in (has_perms_by_name(quotename(s.name) + '.' + quotename(o.name), 'OBJECT', 'INSERT'),
                    has_perms_by_name(quotename(s.name) + '.' + quotename(o.name), 'OBJECT', 'UPDATE'),
                    has_perms_by_name(quotename(s.name) + '.' + quotename(o.name), 'OBJECT', 'DELETE'))
        order by 1`,
  )
  return toldRights(
    rows.flatMap(([what]) => what ?? []),
    { administrator: administrator === '1' },
  )
}
