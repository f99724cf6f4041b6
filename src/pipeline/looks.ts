import type { Transaction } from 'kysely'
import type { Schema } from '../db/tables/database-schema.ts'

/**
 * Asks the engine to look at something, now or later, in the transaction that gave the reason: no state change
 * without its look, no look without its state change. A look that comes twice or late is harmless.
 */
export type Looks = {
  atRun(trx: Transaction<Schema>, runId: number): Promise<void>
  atSubmissions(trx: Transaction<Schema>, submissionIds: readonly number[], delayMs?: number): Promise<void>
  atPages(trx: Transaction<Schema>, pageIds: readonly number[], delayMs?: number): Promise<void>
}
