import pg from 'pg'
import { ConfigError } from '../config/config-error.ts'
import type { Config } from '../config/schema.ts'
import { createDatabase, createPool, type Database } from '../db/database.ts'
import type { Cluster } from '../db/embedded/open-cluster.ts'
import { migrateToLatest, schemaName } from '../db/migrate.ts'
import type { Cli } from './cli.ts'
import { openEmbedded } from './open-embedded.ts'
import { poolSize } from './pool-size.ts'

export type OpenDatabase = {
  url: string
  pool: pg.Pool
  db: Database
  cluster: Cluster | null
  /** The URL of another database: `embedded:<name>` is one of our own server's. */
  resolveUrl(setting: string): Promise<string>
  close(): Promise<void>
}

/** What did not end in the time that it was given is cut off after this much more: a transaction leaves nothing behind. */
const closingMs = 200

const embeddedPrefix = 'embedded:'

/** The database server cannot be reached. */
export class DatabaseUnreachable extends Error {
  readonly code = 'database_unreachable'
}

/**
 * Opens Nightferry's database, starting or joining the embedded server where that is configured, and brings its
 * schema up to date.
 */
export async function openDatabase(cli: Cli, config: Config): Promise<OpenDatabase> {
  const wanted = config.database.url
  let cluster: Cluster | null = null
  const embedded = async (): Promise<Cluster> => {
    cluster ??= await openEmbedded(cli, config)
    return cluster
  }
  const resolveUrl = async (setting: string): Promise<string> => {
    if (!setting.startsWith(embeddedPrefix)) return setting
    return (await embedded()).url(setting.slice(embeddedPrefix.length))
  }
  if (wanted === 'embedded') await (await embedded()).ensureDatabase(config.database.name)
  const url = await resolveUrl(wanted === 'embedded' ? `${embeddedPrefix}${config.database.name}` : wanted)
  try {
    await reach(url)
    await migrateToLatest(url)
  } catch (error) {
    await (cluster as Cluster | null)?.release()
    throw error
  }
  const pool = createPool(url, {
    max: poolSize(config),
    applicationName: 'nightferry',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  const connections = new Set<pg.PoolClient>()
  pool.on('connect', (client) => connections.add(client)).on('remove', (client) => connections.delete(client))
  return {
    url,
    pool,
    db: createDatabase(pool),
    cluster,
    resolveUrl,
    close: async () => {
      const cut = setTimeout(() => {
        for (const client of connections) void (client as pg.Client & pg.PoolClient).end().catch(() => {})
      }, closingMs)
      await pool.end()
      clearTimeout(cut)
      await cluster?.release()
    },
  }
}

/**
 * Makes sure that a database can be reached before anything is asked of it.
 * @throws {ConfigError} when the URL is none.
 * @throws {DatabaseUnreachable} naming host and database but never the password.
 */
export async function reach(url: string): Promise<void> {
  if (!URL.canParse(url)) {
    throw new ConfigError('Settings are wrong:', [
      {
        path: 'database.url',
        message: 'is no URL; it looks like postgres://user:password@host:5432/database, or is `embedded`',
      },
    ])
  }
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 15_000 })
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    const { host, pathname } = new URL(url)
    // A slash in a password that is not written as %2F ends the host, and the password stands in the path.
    const place = pathname.includes('@')
      ? 'an address whose password holds a bare slash (write %2F)'
      : `${host}${pathname}`
    const { message, code } = error as { message?: string; code?: string }
    throw new DatabaseUnreachable(
      `Nightferry's database at ${place} cannot be reached: ${message || code}. Check database.url (DATABASE_URL), and that the server is up.`,
      { cause: error },
    )
  } finally {
    await client.end().catch(() => {})
  }
}
