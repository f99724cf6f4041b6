import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/** Whether rows of a stream wait for approval. */
export async function anyGuarded(trx: Transaction<Schema>, stream: string): Promise<boolean> {
  const { rows } = await sql<{ any: boolean }>`
    select exists (select from source_row where stream = ${stream} and guard_run is not null) as any`.execute(trx)
  return rows[0]?.any === true
}

/** Whether the ledger has no row of a stream yet, not even one that is gone. */
export async function isNewStream(trx: Transaction<Schema>, stream: string): Promise<boolean> {
  const { rows } = await sql<{ known: boolean }>`
    select exists (select from source_row where stream = ${stream}) as known`.execute(trx)
  return rows[0]?.known !== true
}
