import { sql } from 'kysely'
import type { PartnerOptions } from './dialect.ts'
import { examinationIn, type PartnerExamination, type PartnerRights, toldRights } from './examination.ts'
import { inSession } from './server-session.ts'
import { openSqlserverSession, type SqlserverSession } from './sqlserver-session.ts'

/** A session of a SQL Server that only asks. */
export async function examineSqlserver(options: PartnerOptions): Promise<PartnerExamination> {
  return await inSession(options, openSqlserverSession, async (session) => {
    const { rows } = await session.ask(sql`select convert(varchar(50), serverproperty('ProductVersion'))`)
    return examinationIn(session, {
      product: `SQL Server ${rows[0]?.[0] ?? ''}`,
      clock: sql`select convert(varchar(20), datediff_big(millisecond, '19700101', sysutcdatetime()))`,
      columns: sql`
        select table_schema, table_name, column_name, data_type from information_schema.columns
        order by table_schema, table_name, ordinal_position`,
      rightsOf,
    })
  })
}

async function rightsOf(session: SqlserverSession): Promise<PartnerRights> {
  const administrator = await session.ask(sql`select convert(varchar(5), is_srvrolemember('sysadmin'))`)
  const { rows } = await session.ask(
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
    { administrator: administrator.rows[0]?.[0] === '1' },
  )
}
