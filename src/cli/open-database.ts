import { Socket } from 'node:net'
import { addAbortSignal } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { ConfigError } from '../config/environment.ts'
import { httpConnections } from '../config/http-settings.ts'
import type { Config } from '../config/schema.ts'
import { createDatabase, createPool, type Database } from '../db/database.ts'
import { DatabaseTrouble, isServerAway, withRemedy } from '../db/database-trouble.ts'
import { connectionRoom, requireKeptSession, SessionNotKept } from '../db/own-server.ts'
import { requireSchema, schemaMissing, schemaName } from '../db/schema-standing.ts'
import type { Cluster } from '../embedded/open-cluster.ts'
import { whyUnreachable } from '../partner/partner-errors.ts'
import { areWebhooksConfigured, webhookConnections } from '../webhooks/check-webhook-settings.ts'
import { type Cli, printLine } from './cli.ts'
import { readable } from './show/readable.ts'

export type OpenDatabase = {
  url: string
  pool: pg.Pool
  db: Database
  cluster: Cluster | null
  /** The URL of another database: `embedded:<name>` is one of our own server's. */
  resolveUrl(setting: string): Promise<string>
  /** Aborts, with the error as its reason, when the embedded server has ended and cannot be had back. */
  lost: AbortSignal
  close(): Promise<void>
}

/**
 * What did not end in the time that it was given is cut off after this much more: a transaction leaves nothing behind.
 */
const closingMs = 200

const embeddedPrefix = 'embedded:'

/** The database server cannot be reached. */
class DatabaseUnreachable extends Error {
  readonly code = 'database_unreachable'
}

type OpenDatabaseOptions = {
  /**
   * `migrate`: brought to the newest schema, for who carries rows. `write` and `read`: it must be there already,
   * because a question must not change what others work on; `read` may write nothing at all.
   */
  access: 'migrate' | 'write' | 'read'
  /** Told of connections that die while nobody uses them. */
  onIdleError?: (error: Error) => void
  /** Told when the embedded server had ended and was started again. */
  onRestart?: () => void
  /** A server that is away is waited for, and this is told of each attempt. Without it that is an error at once. */
  onAway?: (error: Error) => void
}

/**
 * Opens Nightferry's database, starting or joining the embedded server where that is configured.
 * @throws {SchemaMismatch} when its schema is another one and `access` does not allow to migrate it.
 */
export async function openDatabase(
  cli: Cli,
  config: Config,
  { access, onIdleError = () => {}, onRestart = () => {}, onAway }: OpenDatabaseOptions,
): Promise<OpenDatabase> {
  const wanted = config.database.url
  let cluster: Cluster | null = null
  const embedded = async (): Promise<Cluster> => {
    cluster ??= await (await import('./open-embedded.ts')).openEmbedded(cli, config)
    return cluster
  }
  const resolveUrl = async (setting: string): Promise<string> => {
    if (!setting.startsWith(embeddedPrefix)) return setting
    return (await embedded()).url(setting.slice(embeddedPrefix.length))
  }
  let url: string
  try {
    if (wanted === 'embedded' && access === 'migrate') await (await embedded()).ensureDatabase(config.database.name)
    url = await resolveUrl(wanted === 'embedded' ? `${embeddedPrefix}${config.database.name}` : wanted)
    // The embedded server was started just now: if it is away, waiting does not bring it back.
    await reach(url, cli, wanted === 'embedded' ? undefined : onAway).catch((error: unknown) => {
      if (wanted === 'embedded' && isMissing((error as Error).cause)) throw schemaMissing()
      throw error
    })
    if (access === 'migrate') {
      const { migrateToLatest } = await import('../db/migrate-to-latest.ts')
      await migrateToLatest(url, { onWaiting: (sentence) => printLine(cli.stderr, readable(sentence)) })
    }
  } catch (error) {
    await (cluster as Cluster | null)?.release()
    throw error
  }
  let closing = false
  const pool = createPool(url, {
    max: poolSize(config),
    applicationName: 'nightferry',
    searchPath: schemaName,
    readOnly: access === 'read',
    // Who carries rows ends its statements itself; a person who called a verb may be gone at any time.
    endsWithClient: access !== 'migrate',
    // An embedded server that ends with us may be quicker than our good-bye.
    onIdleError: (error) => (closing ? undefined : onIdleError(error)),
  })
  // Before the first question: its connection is one of those that a hanging statement must not keep.
  const connections = new Set<pg.PoolClient>()
  pool.on('connect', (client) => connections.add(client)).on('remove', (client) => connections.delete(client))
  const db = createDatabase(pool)
  try {
    if (access !== 'migrate') await requireSchema(db)
  } catch (error) {
    closing = true
    await pool.end()
    await (cluster as Cluster | null)?.release()
    throw error
  }
  const keeper = cluster === null ? null : (await import('../embedded/open-cluster.ts')).keepRunning(cluster, onRestart)
  return {
    url,
    pool,
    db,
    cluster,
    resolveUrl,
    lost: keeper?.lost ?? new AbortController().signal,
    close: async () => {
      closing = true
      await keeper?.stop()
      const cut = setTimeout(() => {
        for (const client of connections) void (client as pg.Client & pg.PoolClient).end().catch(() => {})
      }, closingMs)
      await pool.end()
      clearTimeout(cut)
      await cluster?.release()
    },
  }
}

/** Whether the server says that there is no such database. */
function isMissing(cause: unknown): boolean {
  return (cause as { code?: unknown } | undefined)?.code === '3D000'
}

/** A server that was killed replays what it had written ahead; longer is for a person to look at. Milliseconds. */
const startingMs = 60_000
const startingPauseMs = 250

/** Between two attempts to reach a server that is away, for however long that is. Milliseconds. */
const awayPauseMs = 1_000

/** The server says that it starts up, recovers or shuts down. */
const notReady = '57P03'

/**
 * Makes sure that a database can be reached before anything is asked of it. One that starts up is waited for, a minute.
 * @param onAway told of each attempt that found the server away, which is waited for then until the signal comes.
 * @throws {ConfigError} when the URL is none.
 * @throws {DatabaseUnreachable} naming host and database but never the password.
 * @throws {DatabaseTrouble} what the server refuses for a reason of its own.
 */
export async function reach(
  url: string,
  cli: Pick<Cli, 'stderr' | 'signal'>,
  onAway?: (error: Error) => void,
): Promise<void> {
  const giveUpAt = performance.now() + startingMs
  for (let waiting = false; ; waiting = true) {
    try {
      return await connectOnce(url, cli.signal)
    } catch (error) {
      if (onAway !== undefined && !cli.signal.aborted && isServerAway((error as Error).cause)) {
        onAway(error as Error)
        await delay(awayPauseMs, undefined, { signal: cli.signal })
        continue
      }
      const { code, message } = ((error as Error).cause ?? {}) as { code?: unknown; message?: string }
      if (code !== notReady || performance.now() > giveUpAt) throw error
      if (!waiting) printLine(cli.stderr, readable(`Waiting for the database server: ${message}`))
      await delay(startingPauseMs, undefined, { signal: cli.signal })
    }
  }
}

/** @param signal ends an attempt that is not answered. */
async function connectOnce(url: string, signal: AbortSignal): Promise<void> {
  if (!URL.canParse(url)) {
    throw new ConfigError('Settings are wrong:', [
      {
        path: 'database.url',
        message: 'is no URL; it looks like postgres://user:password@host:5432/database, or is `embedded`',
      },
    ])
  }
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 15_000,
      stream: () => addAbortSignal(signal, new Socket()),
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return client
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
  }
  let client: pg.Client | undefined
  try {
    client = await connect()
    await requireKeptSession(client, connect)
  } catch (error) {
    const { place, reason } = whyUnreachable(url, error)
    if (error instanceof SessionNotKept) {
      throw new SessionNotKept(`Nightferry's database at ${place} is behind a pooler that ${error.message}`, {
        cause: error,
      })
    }
    const named = withRemedy(error)
    if (named instanceof DatabaseTrouble && named.code !== 'database_unreachable') {
      throw new DatabaseTrouble(named.code, `Nightferry's database at ${place}: ${named.message}`, { cause: error })
    }
    throw new DatabaseUnreachable(
      `Nightferry's database at ${place} cannot be reached: ${reason}. Check database.url (DATABASE_URL), and that the server is up.`,
      { cause: error },
    )
  } finally {
    await client?.end().catch(() => {})
  }
}

/** The server does not allow as many connections as this process may come to need. */
class ConnectionsShort extends Error {
  readonly code = 'database_connections_short'
}

/** Those of the queue: its own pool, and the one on which it listens. */
const ofQueue = 5

/** Connections to Nightferry's database that a process which carries rows needs at most. */
export function connectionsNeeded(config: Pick<Config, 'engine' | 'pull' | 'webhooks' | 'http'>): number {
  const webhooks = areWebhooksConfigured(config.webhooks) ? webhookConnections : 0
  const api = config.http.port === null ? 0 : httpConnections
  return poolSize(config) + ofQueue + webhooks + api
}

/**
 * Compares what the process needs at most with what the server allows: too few would stop a night in its middle.
 * @returns what to warn of when too few are free now, or null. Others may let go of theirs.
 * @throws {ConnectionsShort} when there can never be enough.
 */
export async function checkConnections(
  db: Database,
  config: Pick<Config, 'engine' | 'pull' | 'webhooks' | 'http'>,
): Promise<string | null> {
  const needed = connectionsNeeded(config)
  const { limit, free } = await connectionRoom(db)
  const { submissionsAtOnce } = config.engine
  const { pagesAtOnce } = config.pull
  const need = `With engine.submissionsAtOnce ${submissionsAtOnce} and pull.pagesAtOnce ${pagesAtOnce} this process needs up to ${needed} connections to its database`
  const remedy =
    'Raise max_connections, or the limit of the role or the database (alter role … connection limit …), or lower the two settings'
  if (limit < needed) throw new ConnectionsShort(`${need}, and the server allows ${limit}. ${remedy}.`)
  // The one that asks is ours, and counts as taken.
  return free + 1 < needed ? `${need}, and only ${free + 1} of ${limit} are free now. ${remedy}.` : null
}

/** Of a look: the connection that has its lock, and the one that has its transaction. */
const connectionsOfLook = 2
/** Of a look at a run: the transaction of the stream that is read while the one before is still stored. */
const connectionsToReadAhead = 1
/** For single statements: of people, of the gate, of the scheduler; and one that listens. */
const connectionsBeside = 5
/** So many looks share one for single statements that a look makes while it has its two. */
const looksPerSpare = 4

/**
 * Connections that a process needs to its database at most, those of its queue aside. Every look that can be under way
 * at once finds those that it has, and nobody who has one ever waits for all others: a third is borrowed for one
 * statement at a time. Fewer would let looks that have one each wait for one another.
 */
export function poolSize({ engine, pull }: Pick<Config, 'engine' | 'pull'>): number {
  const looks = engine.submissionsAtOnce + pull.pagesAtOnce + 1
  const ofLooks = connectionsOfLook * looks + connectionsToReadAhead
  return ofLooks + Math.ceil(looks / looksPerSpare) + connectionsBeside
}
