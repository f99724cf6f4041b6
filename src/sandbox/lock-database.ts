import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { SandboxLogger } from './logger.ts'

/** Another sandbox serves from this database. `code` is stable. */
class SandboxAlreadyRunning extends Error {
  readonly code = 'sandbox_already_running'
}

/** The connection that locked the database for this sandbox was lost, and the database was not had back. */
class SandboxDatabaseLost extends Error {
  readonly code = 'sandbox_database_lost'
}

type LockWatcher = {
  /** The lock is gone: another sandbox may begin, so nothing may be written. The lock is sought again after this. */
  lost(): Promise<void>
  /** The database is locked again. */
  regained(): void
  /** It is not had back: another sandbox has it, or it does not answer. */
  gone(reason: Error): void
}

type DatabaseLock = {
  /** Tells what becomes of the lock, from the start. */
  watch(watcher: LockWatcher): void
  release(): Promise<void>
}

/** Two halves of the key of the advisory lock; locks are the database's own, so one constant is enough. */
const lockKey = [4_711_020, 1] as const

/** A server that restarts is back within this time; one that stays away longer is not waited for. */
const patienceMs = 60_000
const pauseMs = 250

/**
 * Locks a database for one sandbox: a session's advisory lock, on a connection that does nothing else, ends with the
 * process that has it, however that dies. A connection that is lost is noticed at once, and the lock sought again for a
 * minute.
 * @throws {SandboxAlreadyRunning} at once when another sandbox has it.
 */
export async function lockDatabase(databaseUrl: string, logger: SandboxLogger): Promise<DatabaseLock> {
  let watcher: LockWatcher | undefined
  let lostUnwatched = false
  let released = false
  let client: pg.Client | undefined

  const onLost = (error: Error) => {
    if (released) return
    client = undefined
    logger.error({ err: error }, 'sandbox_database_lost')
    if (watcher) void regain(watcher)
    else lostUnwatched = true
  }
  const regain = async (told: LockWatcher) => {
    try {
      await told.lost()
      client = await acquirePatiently(databaseUrl, onLost, () => released)
    } catch (error) {
      told.gone(error as Error)
      return
    }
    if (client === undefined) return
    logger.warn({}, 'sandbox_database_regained')
    told.regained()
  }
  client = await acquire(databaseUrl, onLost)
  return {
    watch: (next) => {
      watcher = next
      if (lostUnwatched) void regain(next)
    },
    release: async () => {
      released = true
      await client?.query('select pg_advisory_unlock($1, $2)', [...lockKey]).catch(() => undefined)
      await client?.end().catch(() => undefined)
    },
  }
}

/** Undefined when nobody wants it any more. */
async function acquirePatiently(
  databaseUrl: string,
  onLost: (error: Error) => void,
  isUnwanted: () => boolean,
): Promise<pg.Client | undefined> {
  const giveUpAt = performance.now() + patienceMs
  while (!isUnwanted()) {
    try {
      return await acquire(databaseUrl, onLost)
    } catch (error) {
      if (error instanceof SandboxAlreadyRunning) throw error
      if (performance.now() >= giveUpAt) {
        const message = `The database was lost and not had back within ${patienceMs / 1000} seconds. Start again when it answers.`
        throw new SandboxDatabaseLost(message, { cause: error })
      }
    }
    await delay(pauseMs)
  }
  return undefined
}

async function acquire(databaseUrl: string, onLost: (error: Error) => void): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'nightferry sandbox (holds the database)',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  })
  let locked = false
  const onGone = (error = new Error('the connection ended')) => {
    if (!locked) return
    locked = false
    onLost(error)
  }
  client.on('error', onGone)
  client.on('end', () => onGone())
  try {
    await client.connect()
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', [
      ...lockKey,
    ])
    locked = rows[0]?.locked === true
  } finally {
    if (!locked) await client.end().catch(() => undefined)
  }
  if (locked) return client
  throw new SandboxAlreadyRunning(
    'Another sandbox serves from this database. Stop it, join it at its address, or choose another database (--database).',
  )
}
