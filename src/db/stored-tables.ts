import type pg from 'pg'

/** A table as it is stored. */
export type StoredTable = {
  name: string
  /** What can be written: generated columns are not. */
  columns: string[]
  /** With its indexes and what is stored apart. */
  bytes: number
  /** Tables that its foreign keys lead to. */
  needs: string[]
}

/** The tables of a schema of ours, but for those of the migrator. */
export async function storedTables(client: pg.ClientBase, schema: string): Promise<StoredTable[]> {
  const { rows } = await client.query<StoredTable & { bytes: string }>(
    `select relname::text as name, pg_total_relation_size(pg_class.oid) as bytes,
            (select array_agg(attname::text order by attnum) from pg_attribute
             where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
            array(select target.relname::text from pg_constraint join pg_class target on target.oid = confrelid
                  where conrelid = pg_class.oid and contype = 'f' and confrelid <> conrelid) as needs
     from pg_class
     where relnamespace = $1::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname not like 'kysely\\_migration%'
     order by relname`,
    [schema],
  )
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }))
}

/** Each table after those that it needs. Pure. @throws {TypeError} when they need each other. */
export function inOrder<T extends Pick<StoredTable, 'name' | 'needs'>>(tables: readonly T[]): T[] {
  const ordered: T[] = []
  const placed = new Set<string>()
  const known = new Set(tables.map(({ name }) => name))
  while (ordered.length < tables.length) {
    const next = tables.filter(
      ({ name, needs }) => !placed.has(name) && needs.every((need) => placed.has(need) || !known.has(need)),
    )
    if (next.length === 0)
      throw new TypeError('tables of the ledger need each other: there is no order to copy them in')
    for (const table of next) placed.add(table.name)
    ordered.push(...next)
  }
  return ordered
}
