import { readFile } from 'node:fs/promises'
import type { RawBuilder } from 'kysely'
import { addressProblem } from '../config/database-address.ts'
import type { ProtectionLack } from '../db/tables/run-tables.ts'
import { heldBytes, type PartnerOptions, type PartnerSnapshot } from './dialect.ts'
import { PartnerDatabaseError, unreachable } from './partner-errors.ts'

/**
 * A connection to a server whose driver is only there where somebody wants it, see docs/decisions/0015. `Field` is what
 * the driver says of a column, `Value` what it makes of a value.
 */
export type ServerSession<Field, Value> = {
  /** The whole answer to a statement of ours, as texts. */
  ask(statement: RawBuilder<unknown>): Promise<{ fields: Field[]; rows: (string | null)[][] }>
  /** Rows a few at a time; the server waits while nobody takes them. */
  read(statement: RawBuilder<unknown>, fetchRows: number): AsyncGenerator<Value[][]>
  close(): Promise<void>
}

/**
 * Connects, and makes of the session what `begin` does; where that fails it is closed again.
 * @throws {PartnerDatabaseError} as `begin` does; `partner_unreachable`, naming the place but never the password.
 */
export async function inSession<Session extends { close(): Promise<void> }, Made>(
  options: PartnerOptions,
  connect: (options: Required<PartnerOptions>) => Promise<Session>,
  begin: (session: Session) => Promise<Made>,
): Promise<Made> {
  let session: Session | undefined
  try {
    session = await connect({ ...options, connectTimeoutMs: options.connectTimeoutMs ?? 15_000 })
    return await begin(session)
  } catch (error) {
    await session?.close()
    throw unreachable(options.url, error)
  }
}

/**
 * Loads a driver that is only there where somebody wants it.
 * @throws {PartnerDatabaseError} `partner_driver_missing`, with the packages to install.
 */
export async function loadDriver<T>(database: string, packages: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new PartnerDatabaseError(
      'partner_driver_missing',
      `To read ${database} Nightferry needs a driver that is not installed: npm install ${packages.join(' ')}, where Nightferry is installed (with --global if it is so).`,
      { cause: error },
    )
  }
}

/**
 * No row past `moment` (UTC) may move a watermark; `shown` is the earliest that a clock of the server showed then;
 * `openMs`: how long the oldest transaction has been open.
 */
export type ServerBound = {
  moment: string
  shown: string
  openMs: number
  lacks: ProtectionLack | null
  clock: PartnerSnapshot['clock']
}

/** When the oldest transaction that may still write began, in the clock of its list; whether the list shows us all. */
export type OldestTransaction = { oldest: string | null; seesAll: boolean }

/** How long before the question `began` is: for transactions that have begun and are not listed yet. Milliseconds. */
const unlistedMs = 100

/**
 * The start of the oldest transaction, or `began` where none is older: a tenth of a second before it was asked for.
 * @param at when that was, by our monotonic clock.
 * @param oldest in UTC, as `began` is.
 * @param shownAt what the earliest clock of the server showed at a moment.
 * @param isCopy whether rows arrive from a server whose transactions are not listed here.
 */
export async function boundOf(
  { began, at, oldest, seesAll }: OldestTransaction & { began: string; at: number },
  shownAt: (moment: string) => string | Promise<string>,
  isCopy: () => Promise<boolean>,
): Promise<ServerBound> {
  const moment = oldest !== null && oldest < began ? oldest : began
  const there = await shownAt(moment)
  const lacks = seesAll ? ((await isCopy()) ? 'standby' : null) : 'privilege'
  const openMs = moment === began ? 0 : millisecondsOf(began) - millisecondsOf(moment)
  const clock = { ms: millisecondsOf(began) + unlistedMs, at }
  return { moment, shown: there < moment ? there : moment, openMs, lacks, clock }
}

/** Zones are a multiple of a quarter of an hour apart; what is left is the time that our own question took. */
const quarterMs = 900_000
const hourMs = 3_600_000

/**
 * A time of a server's own clock, in UTC.
 * @param secondsAhead how far that clock is before UTC now, with the seconds that it took to ask.
 *
 * A clock that is not at UTC may have been put back since, so an hour is taken off: reading too much does no harm.
 */
export function inUtc(text: string, secondsAhead: number): string {
  const aheadMs = Math.round((secondsAhead * 1000) / quarterMs) * quarterMs
  return moved(text, -aheadMs - (aheadMs === 0 ? 0 : hourMs))
}

/** A time as servers print it, so many milliseconds later. */
export function moved(text: string, ms: number): string {
  return new Date(millisecondsOf(text) + ms).toISOString().replace('T', ' ').replace('Z', '')
}

/** A time as servers print it, as if it were in UTC. */
function millisecondsOf(text: string): number {
  return Date.parse(`${text.replace(' ', 'T')}Z`)
}

/** What a driver pushes row by row, kept back so that no more than some rows are in memory. */
type PushedRows<Row> = {
  readonly push: (row: Row) => void
  readonly end: () => void
  readonly fail: (error: unknown) => void
  /** The rows in arrays of `size`, shorter where the rows are long, and at the end. What comes later is not kept. */
  batches(): AsyncGenerator<Row[]>
}

/**
 * Turns rows that are pushed into batches that are pulled.
 * @param weigh bytes of a row's values, more or less.
 * @param source is stopped when a batch is full, and let go when it has been taken.
 */
export function pushedRows<Row>(
  size: number,
  weigh: (row: Row) => number,
  source: { pause(): void; resume(): void },
): PushedRows<Row> {
  let rows: Row[] = []
  let bytes = 0
  let ended = false
  let wanted = true
  let failure: { error: unknown } | undefined
  let wake = () => {}
  const isFull = () => rows.length >= size || bytes >= heldBytes
  const take = (): Row[] => {
    let count = 0
    let taken = 0
    for (const row of rows) {
      if (count >= size || taken >= heldBytes) break
      count += 1
      taken += weigh(row)
    }
    bytes -= taken
    // What the driver had read already when it was stopped comes on top, and waits for its turn.
    if (count < rows.length) return rows.splice(0, count)
    const batch = rows
    rows = []
    return batch
  }
  return {
    push: (row) => {
      if (!wanted) return
      rows.push(row)
      bytes += weigh(row)
      if (!isFull()) return
      source.pause()
      wake()
    },
    end: () => {
      ended = true
      wake()
    },
    fail: (error) => {
      failure ??= { error }
      wake()
    },
    batches: async function* () {
      try {
        for (;;) {
          while (!isFull() && !ended && failure === undefined) {
            await new Promise<void>((resolve) => {
              wake = resolve
              source.resume()
            })
          }
          if (failure !== undefined) throw failure.error
          if (rows.length === 0) return
          yield take()
        }
      } finally {
        wanted = false
      }
    },
  }
}

/** How a connection is protected; without `ca` the authorities that Node.js knows are trusted. */
type Tls = { verify: boolean; ca?: string }

/** A URL of a database server, taken apart. Null: the URL does not say. */
export type ServerAddress = {
  host: string
  port: number | null
  user: string
  password: string
  database: string | null
  /** Null: in plain text. */
  tls: Tls | null
  parameters: ReadonlyMap<string, string>
}

/**
 * Reads `scheme://user:password@host:port/database?ssl=…`. `ssl` is `true` (encrypted, certificate and name verified),
 * `no-verify` (encrypted, no matter who answers) or `false`; `sslrootcert` names a file of authorities in PEM and means
 * `ssl=true`.
 *
 * @param allowed the parameters besides these two: one that is misspelt must not be without effect.
 * @throws {Error} with a reason that holds no part of the URL but names of parameters.
 */
export async function readServerAddress(
  url: string,
  { allowed, tlsByDefault }: { allowed: readonly string[]; tlsByDefault: boolean },
): Promise<ServerAddress> {
  if (!URL.canParse(url)) throw new Error('the address is no URL; write special characters of its password as %XX')
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(url)
  const problem = addressProblem(url, protocol.slice(0, -1))
  if (problem !== null) throw new Error(`the address ${problem}`)
  const known = ['ssl', 'sslrootcert', ...allowed]
  const unknown = [...searchParams.keys()].filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw new Error(`the address has unknown parameters: ${unknown.join(', ')}; there are ${known.join(', ')}`)
  }
  if (hostname === '') throw new Error('the address names no server')
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? null : Number(port),
    user: decoded(username),
    password: decoded(password),
    database: pathname.length > 1 ? decoded(pathname.slice(1)) : null,
    tls: await tlsOf(searchParams, tlsByDefault),
    parameters: new Map(searchParams),
  }
}

async function tlsOf(parameters: URLSearchParams, byDefault: boolean): Promise<Tls | null> {
  const file = parameters.get('sslrootcert')
  const wanted = parameters.get('ssl') ?? (file === null ? String(byDefault) : 'true')
  if (!['true', 'no-verify', 'false'].includes(wanted)) {
    throw new Error(`ssl=${wanted} in the address means nothing; it is true, no-verify or false`)
  }
  if (wanted === 'false') return null
  return { verify: wanted === 'true', ...(file !== null && { ca: await readFile(file, 'utf8') }) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('user, password or database in the address holds a % that is not written as %25')
  }
}
