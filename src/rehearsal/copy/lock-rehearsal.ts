import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { noticesSilence } from '../../db/database.ts'
import { RehearsalRefused } from './rehearsal-database.ts'

/** First half of the key of the advisory lock; the second is the name of the database, as a number. */
const lockClass = 4_711_022
/** Sessions of a process that ended just now are gone within this time. Milliseconds. */
const lingeringMs = 3_000
const pauseMs = 100

/**
 * Takes a database for one rehearsal until the answer is disposed of. While a mirror is taken nobody is connected to
 * the database and nothing is in it: only the lock tells another rehearsal. It belongs to a session, so it ends with
 * its process, however that dies.
 * @param url where the lock is kept: the database itself, or another one of its server if it is to be dropped.
 * @param name of the database that is taken; null: the one of the URL, whatever its server is called there.
 * @param check looks at it, on the session that has the lock, before it is anybody's.
 * @throws {RehearsalRefused} `rehearsal_under_way`, and what `check` throws.
 */
export async function lockRehearsal(
  url: string,
  name: string | null,
  signal: AbortSignal,
  check: (client: pg.Client) => Promise<void>,
): Promise<AsyncDisposable> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'nightferry rehearse (holds the database)',
    connectionTimeoutMillis: 15_000,
    ...noticesSilence,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    // It does nothing for as long as the mirror takes. A server before 14 does not know the setting.
    await client.query("select set_config('idle_session_timeout', '0', false)").catch(() => {})
    await untilFree(signal, async () => {
      await takeLock(client, name)
      await check(client)
    })
    return { [Symbol.asyncDispose]: () => client.end().catch(() => {}) }
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

async function untilFree(signal: AbortSignal, attempt: () => Promise<void>): Promise<void> {
  const giveUpAt = performance.now() + lingeringMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const mayEnd = error instanceof RehearsalRefused && error.code === 'rehearsal_under_way'
      if (!mayEnd || performance.now() > giveUpAt) throw error
    }
    await delay(pauseMs, undefined, { signal })
  }
}

async function takeLock(client: pg.Client, name: string | null): Promise<void> {
  const { rows } = await client.query<{ locked: boolean; database: string }>(
    `select pg_try_advisory_lock($1, hashtext(database)) as locked, database
     from (select coalesce($2, current_database()::text) as database) taken`,
    [lockClass, name],
  )
  const [found] = rows
  if (found?.locked === true) return
  const message = `Another rehearsal is under way in ${found?.database}. Try again when it has ended, or name another database with --database.`
  throw new RehearsalRefused('rehearsal_under_way', message)
}
