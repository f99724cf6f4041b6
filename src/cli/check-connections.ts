import type { Config } from '../config/schema.ts'
import { connectionRoom } from '../db/connection-room.ts'
import type { Database } from '../db/database.ts'
import { httpConnections } from '../http/http-connections.ts'
import { areWebhooksConfigured, webhookConnections } from '../webhooks/check-webhook-settings.ts'

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
/** For single statements: of people, of the gate, of the scheduler; and one that listens. */
const connectionsBeside = 5
/** So many looks share one for single statements that a look makes while it has its two. */
const looksPerSpare = 4

/**
 * Connections that a process needs to its database at most, those of its queue aside. Every look that can be under way
 * at once finds the two that it has, and nobody who has one ever waits for all others: a third is borrowed for one
 * statement at a time. Fewer would let looks that have one each wait for one another.
 */
export function poolSize({ engine, pull }: Pick<Config, 'engine' | 'pull'>): number {
  const looks = engine.submissionsAtOnce + pull.pagesAtOnce + 1
  return connectionsOfLook * looks + Math.ceil(looks / looksPerSpare) + connectionsBeside
}
