import type { Transaction } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Required } from '../config/require-settings.ts'
import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import type { Schema } from '../db/tables/database-schema.ts'
import type { Submission } from '../db/tables/submission-tables.ts'
import type { ExchangeClient } from '../exchange/client.ts'
import type { Contract } from '../exchange/contract.ts'
import type { Task } from '../exchange/task.ts'

/**
 * Stores what a search found whose task has ended, in the transaction that settles it. Searches travel as other
 * requests do, and only the stage that loads their pages knows how they end.
 */
type EndSearch = (deps: Deps, trx: Transaction<Schema>, submission: Submission, task: Task) => Promise<void>

/** What every stage works with. Clock, pools and the client are given, so that a test can give its own. */
export type Deps = {
  config: Config
  required: Required
  contract: Contract
  pool: pg.Pool
  db: Database
  exchange: ExchangeClient
  looks: Looks
  endSearch: EndSearch
  logger: Logger
  /**
   * Logs as `event` what comes again and again, as while a database is away: once a minute for each kind of error.
   * @param about fields of the line; of those that were counted meanwhile, the newest are logged.
   */
  tellTrouble: (event: string, error: Error, about?: object) => void
  /** The database's clock, as read of late: delays are reckoned by it alone, because no two processes have the same. */
  now: () => Date
  /** Reads that clock again, before a look. Absent where a test says what time it is. */
  readClock?: () => Promise<void>
}

/**
 * Asks the engine to look at something, now or later, in the transaction that gave the reason: no state change
 * without its look, no look without its state change. A look that comes twice or late is harmless.
 */
export type Looks = {
  atRun(trx: Transaction<Schema>, runId: number): Promise<void>
  atSubmissions(trx: Transaction<Schema>, submissionIds: readonly number[], delayMs?: number): Promise<void>
  atPages(trx: Transaction<Schema>, pageIds: readonly number[], delayMs?: number): Promise<void>
}

/**
 * What a process leaves to others of a run. `foreign`: what another installation or configuration has, and it does not:
 * a destination, a job, a step, a search, a kind of request or a driver. `all`: whatever it fails at, because nobody
 * waits here for the end of that run.
 */
export type Yields = 'nothing' | 'foreign' | 'all'

/** Where the settings stand that only a process needs which sends. */
const sendingSettings = {
  customIdentifierId: 'exchange.customIdentifierId',
  groupId: 'exchange.groupId',
  partnerUrl: 'partner.url',
} as const

/**
 * A setting that reading at the service does not need, for a stage that does: such a stage belongs to a run that
 * another process began, whose configuration has it.
 * @throws {StopRun} `config_invalid`
 */
export function sendingSetting({ required }: Pick<Deps, 'required'>, name: keyof typeof sendingSettings): string {
  const value = required[name]
  if (value !== null) return value
  throw new StopRun('config_invalid', `${sendingSettings[name]} is not set or cannot be used, and rows are sent by it`)
}

/**
 * Something that stops the run at hand and that trying again at once does not fix. The run ends as failed,
 * with this code and message for the person who reads it in the morning; nothing of the step is kept.
 */
export class StopRun extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Why a person's action was not taken: nothing was changed. */
type ActionRefusedCode =
  /** There is no such submission. */
  | 'submission_unknown'
  /** The submission is in no state in which the action means anything. */
  | 'submission_state'
  /** A look at the submission did not end while the action waited for it. */
  | 'submission_busy'
  /** The task that was named cannot be the submission's. */
  | 'task_not_adoptable'
  /** The submission went to a destination that is not in use. */
  | 'submission_elsewhere'
  /** A run is under way, and would be wrong about what the action changes. */
  | 'run_under_way'
  /** More rows would be sent again than the guard lets through. */
  | 'resend_beyond_guard'
  /** Nothing was ever read of a hotel that was named. */
  | 'hotel_unknown'
  /** A hotel that is to be in a pilot is suspended by its id. */
  | 'hotel_suspended'
  /** No pilot is on. */
  | 'pilot_unknown'
  /** Another destination has the name. */
  | 'name_taken'
  /** The tables of the destination are not whole. */
  | 'destination_outdated'

/** An action that cannot be taken as things stand. The message says why, and what can be done instead. */
export class ActionRefused extends Error {
  readonly code: ActionRefusedCode

  constructor(code: ActionRefusedCode, message: string) {
    super(message)
    this.code = code
  }
}
