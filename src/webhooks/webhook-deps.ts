import type { Logger } from 'pino'
import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import type { Contract } from '../exchange/contract.ts'
import type { Looks } from '../pipeline/looks.ts'
import type { RefusalCounter } from './count-refusals.ts'

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
