import { sql } from 'kysely'
import type { QueryPlan } from './dialect.ts'
import type { SqlserverSession } from './sqlserver-session.ts'

/**
 * Whether an index begins with the column that a query yields as its cursor. The server shows plans to roles with a
 * right of their own only (SHOWPLAN), which reading does not need: so neither rows nor costs are asked for.
 */
export async function explainSqlserver(
  session: SqlserverSession,
  query: string,
  cursor: string | null,
): Promise<QueryPlan> {
  if (cursor === null) return { rows: null, cost: null, indexed: null }
  const { rows } = await session.ask(sql`
    select r.source_column, convert(varchar(10), (
      select count(*) from sys.index_columns i
      join sys.columns c on c.object_id = i.object_id and c.column_id = i.column_id
      where i.object_id = object_id(quotename(r.source_schema) + '.' + quotename(r.source_table))
        and i.key_ordinal = 1 and c.name = r.source_column))
    from sys.dm_exec_describe_first_result_set(${query}, null, 1) r where r.name = ${cursor}`)
  const [source, indexes] = (rows[0] ?? []).map(({ value }) => value)
  // An expression has no column that an index could begin with.
  return { rows: null, cost: null, indexed: typeof source === 'string' ? Number(indexes) > 0 : null }
}
