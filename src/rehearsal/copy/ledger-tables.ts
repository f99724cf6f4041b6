import type pg from 'pg'

/** A table of the ledger as it is copied. */
export type LedgerTable = {
  name: string
  /** What can be written: generated columns are not. */
  columns: string[]
  /** With its indexes and what is stored apart. */
  bytes: number
  /** Tables that its foreign keys lead to. */
  needs: string[]
}

/**
 * What a rehearsal does without: what was sent and told in earlier nights, what people asked for meanwhile, and what
 * belongs to the service's key. A rehearsal must not wait for a pause, start a job or tell anybody of it.
 */
const leftOut: ReadonlySet<string> = new Set([
  ...['submission_payload', 'row_change', 'staged_outcome'],
  ...['job_pause', 'job_request', 'notification', 'notification_mark'],
  ...['service_key', 'webhook_event', 'webhook_refusal', 'webhook_receiver'],
])

/** The tables that a rehearsal needs, each after those that its foreign keys lead to. */
export async function ledgerTables(client: pg.ClientBase, schema: string): Promise<LedgerTable[]> {
  const { rows } = await client.query<LedgerTable & { bytes: string }>(
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
  const wanted = rows.filter(({ name }) => !leftOut.has(name)).map((row) => ({ ...row, bytes: Number(row.bytes) }))
  return inOrder(wanted)
}

/** Each table after those that it needs. Pure. @throws {TypeError} when they need each other. */
function inOrder(tables: readonly LedgerTable[]): LedgerTable[] {
  const ordered: LedgerTable[] = []
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
