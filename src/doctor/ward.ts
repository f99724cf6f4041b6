import { existsSync } from 'node:fs'
import { sql } from 'kysely'
import type { Config } from '../config/schema.ts'
import { isLoopback } from '../config/setting-kinds.ts'
import { createDatabase, createPool, type Database } from '../db/database.ts'
import { SchemaMismatch, schemaName } from '../db/schema-standing.ts'
import type { ExchangeClient } from '../exchange/client.ts'
import type { Contract } from '../exchange/contract.ts'
import type { PartnerSnapshot } from '../partner/dialect.ts'
import type { Encryption, PartnerExamination } from '../partner/examination.ts'
import { whyUnreachable } from '../partner/partner-errors.ts'

/** What is looked at, in the order in which it is told: the specification's own first (Authentication 6). */
export const groups = {
  service: 'The service, in the order of its troubleshooting',
  configuration: 'The configuration',
  partner: "The partner's database",
  database: "Nightferry's own database",
  clocks: 'Clocks',
  downloads: 'Where result files come from',
  webhooks: 'Webhooks of the service',
  notifications: 'Who is told',
  schedule: 'The schedule, and the last runs',
} as const
export type Group = keyof typeof groups

/** From harmless to what keeps a night from going well. */
export const levels = ['ok', 'advice', 'warning', 'error'] as const
export type Level = (typeof levels)[number]

/** What a check found: what is so, and what to do where something is to be done. */
export type Found = {
  level: Level
  what: string
  /** A verb, a setting or a statement; null where nothing is to be done. */
  todo: string | null
  /** Of several things that one check looks at, which: a stream, a host. */
  subject?: string
}

/** The same with what it is about. `why`: why it matters; null where all is well. */
export type Finding = {
  id: string
  group: Group
  subject: string | null
  level: Level
  what: string
  why: string | null
  todo: string | null
  /** False where the check could not be made. */
  made: boolean
}

export function ok(what: string, subject?: string): Found {
  return found('ok', what, null, subject)
}

export function advice(what: string, todo: string, subject?: string): Found {
  return found('advice', what, todo, subject)
}

export function warning(what: string, todo: string, subject?: string): Found {
  return found('warning', what, todo, subject)
}

export function error(what: string, todo: string, subject?: string): Found {
  return found('error', what, todo, subject)
}

function found(level: Level, what: string, todo: string | null, subject?: string): Found {
  return { level, what, todo, ...(subject !== undefined && { subject }) }
}

/** The worst of some levels; `ok` of none. Pure. */
export function worst(of: readonly { level: Level }[]): Level {
  return levels.findLast((level) => of.some((one) => one.level === level)) ?? 'ok'
}

/** Nightferry's own database, open to read. */
type OwnDatabase = {
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

const missingDatabase = '3D000'

/**
 * Opens Nightferry's own database to read, whatever schema it has.
 * @param embedded the name of the database, if the server is the embedded one.
 * @throws {NotMadeYet} when the embedded server has no such database.
 * @throws {Error} naming host and database but never the password.
 */
export async function openOwnDatabase(
  url: string,
  embedded: string | null,
  limits: { connectTimeoutMs: number; statementTimeoutMs: number },
  made: AsyncDisposableStack,
): Promise<Omit<OwnDatabase, 'connectionsNeeded'>> {
  const pool = createPool(url, {
    max: 2,
    applicationName: 'nightferry doctor',
    searchPath: schemaName,
    onIdleError: () => {},
    readOnly: true,
    ...limits,
  })
  made.defer(() => pool.end())
  const db = createDatabase(pool)
  try {
    await sql`select 1`.execute(db)
  } catch (error) {
    if (embedded !== null && (error as { code?: unknown }).code === missingDatabase) {
      throw new NotMadeYet(`The embedded server has no database ${embedded} yet`)
    }
    const { place, reason } = whyUnreachable(url, error)
    throw new Error(`Nightferry's database at ${place} cannot be reached: ${reason}`, { cause: error })
  }
  return { db, dataFolder: await localDataFolder(url, db) }
}

/** Where a server on this machine keeps its data, if it tells and we may see the folder. */
async function localDataFolder(url: string, db: Database): Promise<string | null> {
  const host = URL.canParse(url) ? new URL(url).hostname : null
  if (host === null || (host !== '' && !isLoopback(host))) return null
  try {
    const { rows } = await sql<{ folder: string }>`select current_setting('data_directory') as folder`.execute(db)
    const folder = rows[0]?.folder
    return folder !== undefined && existsSync(folder) ? folder : null
  } catch {
    // Only some roles may ask: then the disk counts as unseen.
    return null
  }
}

/**
 * Whether what goes to a database and comes from there can be read on the way. Advice only: something else, such as a
 * tunnel or a network of containers, may protect the way. Pure.
 * @param parameter that has the connection encrypted.
 * @param variable that holds the address.
 */
export function judgeEncryption({ host, encrypted }: Encryption, parameter: string, variable: string): Found[] {
  if (encrypted) return [ok('The connection is encrypted')]
  if (host === null || isLoopback(host)) {
    return [ok('The database is on this machine, so nothing goes over a network')]
  }
  return [
    advice(
      `The connection to ${host} is not encrypted, so others on the way could read and change what goes over it`,
      `add ${parameter} to ${variable}, unless something else encrypts the way`,
    ),
  ]
}
