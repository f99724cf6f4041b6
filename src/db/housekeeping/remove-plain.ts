import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { batchRows, type OldCount, type PlainKind } from './old-kinds.ts'

const table = (kind: PlainKind): RawBuilder<unknown> => sql.table(kind.table)

export async function countPlain(db: Database, kind: PlainKind, before: Date): Promise<OldCount> {
  const { rows } = await sql<OldCount>`
    select count(*) as rows, min(${sql.id('old', kind.at)}) as oldest,
           coalesce(sum(pg_column_size(old)), 0)::float8 as bytes
    from ${table(kind)} old where ${kind.condition(before)}`.execute(db)
  return rows[0] ?? { rows: 0, oldest: null, bytes: 0 }
}

/** Removes one batch, in a statement of its own. @returns how many; fewer than `batchRows` once there are no more. */
export async function removePlain(db: Database, kind: PlainKind, before: Date): Promise<number> {
  const key = sql.join(kind.key.map((column) => sql.ref(column)))
  const found = sql`select ${key} from ${table(kind)} old where ${kind.condition(before)} limit ${batchRows}`
  // By ctid only with an array does the server go straight to the rows.
  const those = kind.key[0] === 'ctid' ? sql`ctid = any(array(${found}))` : sql`(${key}) in (${found})`
  const { numAffectedRows } = await sql`delete from ${table(kind)} where ${those}`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/** Adds what is counted apart. Pure. */
export function addCounts(counts: readonly OldCount[]): OldCount {
  return counts.reduce((sum, one) => ({
    rows: sum.rows + one.rows,
    oldest: sum.oldest === null || (one.oldest !== null && one.oldest < sum.oldest) ? one.oldest : sum.oldest,
    bytes: sum.bytes + one.bytes,
  }))
}
