import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'

/** Beside the classes of `advisory-lock.ts`. */
const loading = 4_711_013

/**
 * Waits for the lock on what searches brought, and holds it until the transaction ends. Pages are loaded side by side
 * under the shared one, as long as none touches what another may have seen; anyone who does takes the exclusive one.
 */
export async function lockLoading(trx: Transaction<Schema>, mode: 'shared' | 'exclusive'): Promise<void> {
  if (mode === 'shared') await sql`select pg_advisory_xact_lock_shared(${loading}, 0)`.execute(trx)
  else await sql`select pg_advisory_xact_lock(${loading}, 0)`.execute(trx)
}
