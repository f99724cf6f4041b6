import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import { SchemaMismatch } from '../db/schema-standing.ts'
import type { ExchangeClient } from '../exchange/client.ts'
import type { Contract } from '../exchange/contract.ts'
import type { PartnerSnapshot } from '../partner/dialect.ts'
import type { PartnerExamination } from '../partner/examination.ts'
import type { Found, Group } from './finding.ts'

/** Nightferry's own database, open to read. */
export type OwnDatabase = {
  db: Database
  /** Where its server keeps its data on this machine; null where that is elsewhere or unknown. */
  dataFolder: string | null
  /** Connections that a process which carries rows needs at most. */
  connectionsNeeded: number
}

/**
 * What the checks look at. Each part is opened when it is first asked for, once; where that fails, every call rejects
 * with the same error, which the check whose subject it is tells, and the others name that check (`on`).
 */
export type Ward = {
  now: () => Date
  /** The configuration file; null: there is none. */
  configFile: string | null
  /** Variables that may contain settings. */
  environment: Readonly<Record<string, string | undefined>>
  config: () => Promise<Config>
  contract: () => Promise<Contract>
  /** @throws what `nightferry serve` would refuse to start with: settings of the HTTP API or of webhooks. */
  serving: () => Promise<void>
  /** Whether traces of runs are asked for, and what would send them is there. */
  tracing: () => Promise<'not asked for' | 'installed' | 'missing'>
  /** The client that only reads, once the service has accepted the key. */
  service: () => Promise<ExchangeClient>
  own: () => Promise<OwnDatabase>
  /** The same, once its schema is the one that this version works with. */
  ledger: () => Promise<OwnDatabase>
  /** A connection that looks at the partner's database. */
  partner: () => Promise<PartnerExamination>
  /** A snapshot of it as a run takes one, each a new one: a query that fails ends the transaction of its snapshot. */
  partnerSnapshot: () => Promise<PartnerSnapshot>
}

/** One thing to look at: I/O here, the judgement in pure functions beside it. */
export type Check = {
  /** Names its findings, for people and for anyone who watches them: docs/doctor.md lists them all. */
  id: string
  group: Group
  /** Why it matters, said where something is not well. */
  why: string
  run: (ward: Ward) => Promise<Found[]>
}

/** A check cannot be made, for a reason that another check tells of. */
export class CannotLook extends Error {
  /** Advice where what is to be looked at was not made yet. */
  readonly level: 'advice' | 'warning'

  constructor(message: string, level: CannotLook['level'] = 'warning') {
    super(message)
    this.level = level
  }
}

/**
 * A part of the ward that another check is about.
 * @throws {CannotLook} naming that check, where the part is not to be had.
 */
export async function on<T>(part: () => Promise<T>, check: string): Promise<T> {
  try {
    return await part()
  } catch (error) {
    if (error instanceof CannotLook) throw error
    throw new CannotLook(`see ${check}`, isNotMadeYet(error) ? 'advice' : 'warning')
  }
}

/** The embedded server has no data in the folder yet, or no such database. */
export class NotMadeYet extends Error {}

/** Whether something is not there because nothing has happened yet, which is no trouble. Pure. */
function isNotMadeYet(error: unknown): boolean {
  return error instanceof NotMadeYet || (error instanceof SchemaMismatch && error.code === 'schema_missing')
}
