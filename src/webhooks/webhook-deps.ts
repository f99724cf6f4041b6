import { type Kysely, sql } from 'kysely'
import type { Logger } from 'pino'
import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import type { Schema } from '../db/tables/database-schema.ts'
import type { Contract } from '../exchange/contract.ts'
import type { Verification } from '../exchange/webhook-signature.ts'
import type { Looks } from '../pipeline/deps.ts'

/** What a receiver works with. */
export type WebhookDeps = {
  config: Config['webhooks']
  contract: Contract
  looks: Looks
  logger: Logger
  /** The database's clock: deliveries are at most five minutes off it, either way. */
  now: () => Date
  readClock?: () => Promise<void>
}

/** The same with what it has made for itself. */
export type InboxDeps = WebhookDeps & { db: Database; refusals: RefusalCounter }

/** Why a delivery was not taken. The sender is told none of it. */
export type RefusalReason =
  | Extract<Verification, { verified: false }>['reason']
  | 'custom_header_wrong'
  | 'body_too_large_or_cut'
  | 'other_path_or_method'
  | 'not_stored'

type RefusalCounter = {
  count(reason: RefusalReason): void
  /** Adds what was counted since the last time to the table. @returns what that was. @throws without losing any. */
  flush(db: Kysely<Schema>): Promise<Partial<Record<RefusalReason, number>>>
}

/** Counts in memory: anyone who sends a thousand forged deliveries a second makes no thousand rows of them. */
export function createRefusalCounter(): RefusalCounter {
  let counted = new Map<RefusalReason, number>()
  const add = (reason: RefusalReason, refused: number) => counted.set(reason, (counted.get(reason) ?? 0) + refused)
  return {
    count: (reason) => void add(reason, 1),
    flush: async (db) => {
      const flushed = counted
      if (flushed.size === 0) return {}
      counted = new Map()
      try {
        await sql`
          insert into webhook_refusal (day, reason, refused, last_at)
          select current_date, reason, refused, clock_timestamp()
          from unnest(${[...flushed.keys()]}::text[], ${[...flushed.values()]}::bigint[]) as counted (reason, refused)
          order by reason
          on conflict (day, reason) do update
            set refused = webhook_refusal.refused + excluded.refused, last_at = excluded.last_at`.execute(db)
      } catch (error) {
        for (const [reason, refused] of flushed) add(reason, refused)
        throw error
      }
      return Object.fromEntries(flushed)
    },
  }
}
