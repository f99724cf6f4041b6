import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { type Database, keepIdle, noticesSilence } from '../../db/database.ts'
import { unfinishedStates } from '../../db/tables/submission-tables.ts'
import type { Deps } from '../../pipeline/deps.ts'
import { configuredDestination } from '../../pipeline/destination/check-destination.ts'
import { addKey, bindDestination, destinationInUse } from '../../pipeline/destination/find-destination.ts'

/** What says that a database was made for rehearsals, and may be dropped for the next. */
const mark = 'made by nightferry rehearse, and dropped by the next one'

/** What says the same within a database that was named: it is made first, and dropped with the others. */
export const markSchema = 'nightferry_rehearsal'

/** Everything that a rehearsal makes in a database. */
const schemas = ['nightferry', 'nightferry_queue', 'sandbox', markSchema]

const dropAll = `drop schema if exists ${schemas.join(', ')} cascade`

/**
 * Makes sure that a database of a server of ours may be dropped: it is not there, or a rehearsal left it.
 * @param client of another database of the same server.
 * @throws {RehearsalRefused} `rehearsal_under_way` or `rehearsal_database_in_use`.
 */
export async function requireLeftOver(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ said: string | null; users: number }>(
    `select shobj_description(oid, 'pg_database') as said,
            (select count(*)::int from pg_stat_activity where datname = $1 and usesysid is not null) as users
     from pg_database where datname = $1`,
    [name],
  )
  const [found] = rows
  if (found === undefined) return
  if (found.said !== mark) {
    const message = `The database ${name} is there and was not made by a rehearsal. Name another database with --database.`
    throw new RehearsalRefused('rehearsal_database_in_use', message)
  }
  if (found.users > 0) {
    const message = `Somebody is connected to ${name}, and looks at what the last rehearsal kept. Try again when they have left.`
    throw new RehearsalRefused('rehearsal_under_way', message)
  }
}

/** Says of a database that it was made for a rehearsal. */
export async function markDatabase(url: string, name: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(`comment on database ${client.escapeIdentifier(name)} is ${client.escapeLiteral(mark)}`)
  })
}

/**
 * Makes a database that was named ready for a rehearsal, and marks it as such: what an earlier one left there goes.
 * @param client of that database.
 * @throws {RehearsalRefused} `rehearsal_database_in_use` when it holds what a rehearsal would make and none has made;
 * `rehearsal_under_way` when somebody else is connected, who looks at what is left or has put it to use.
 */
export async function takeEmpty(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; said: string | null; users: number }>(
    `select nspname::text as name, obj_description(oid, 'pg_namespace') as said,
            (select count(*)::int from pg_stat_activity
             where datname = current_database() and usesysid is not null and pid <> pg_backend_pid()) as users
     from pg_namespace where nspname = any($1) order by 1`,
    [schemas],
  )
  const [found] = rows
  if (found !== undefined && !rows.some(({ name, said }) => name === markSchema && said === mark)) {
    const message = `The database for the rehearsal has the schema ${rows.map(({ name }) => name).join(' and ')} already, which no rehearsal has marked as its own. Name an empty database: what a rehearsal makes there is dropped in the end.`
    throw new RehearsalRefused('rehearsal_database_in_use', message)
  }
  if (found !== undefined && found.users > 0) {
    const message = `The database for the rehearsal has what an earlier one left, and somebody is connected to it. Try again when they have left.`
    throw new RehearsalRefused('rehearsal_under_way', message)
  }
  await client.query(`
    begin;
    ${dropAll};
    create schema ${markSchema};
    comment on schema ${markSchema} is ${client.escapeLiteral(mark)};
    commit`)
}

/** Drops what a rehearsal made in a database that was empty before. */
export async function emptyAgain(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(dropAll)
  })
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 15_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** A night cannot be rehearsed as things are; nothing was changed. `code` is stable. */
export class RehearsalRefused extends Error {
  readonly code: 'rehearsal_no_room' | 'rehearsal_under_way' | 'rehearsal_database_in_use' | 'run_under_way'

  constructor(code: RehearsalRefused['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * Tells a copy of the ledger that the mirror is the service that its rows were accepted by, and that requests are given
 * up which have not ended. Only ever called with the copy.
 * @param mirror where the mirror answers, with the key that was made for it.
 * @returns how many requests of earlier nights had not ended.
 */
export async function pointAtMirror(copy: Database, mirror: Pick<Deps, 'required'>): Promise<number> {
  const inUse = await destinationInUse(copy)
  const configured = configuredDestination(mirror)
  await copy.transaction().execute(async (trx) => {
    await bindDestination(trx, inUse.destination_id, configured)
    // A copy of purpose: that it is another database than that of the last run is no news.
    await trx.updateTable('run').set({ own_database: null }).where('own_database', 'is not', null).execute()
    await addKey(trx, inUse.destination_id, configured.fingerprint, 'told', 'the key of a mirror')
  })
  // The mirror knows none of their tasks, and a body that was written before stayed with the ledger.
  const { rows } = await sql<{ open: number }>`
    with given_up as (
      update submission set state = 'abandoned', settled_at = clock_timestamp()
      where state = any(${unfinishedStates}::text[])
      returning submission_id
    ), released as (
      delete from held_property using given_up where held_property.submission_id = given_up.submission_id
    )
    select count(*) as open from given_up`.execute(copy)
  return rows[0]?.open ?? 0
}

type RehearsalLock = AsyncDisposable & {
  /** @throws {RehearsalRefused} `rehearsal_under_way` once its session has ended. */
  requireHeld: () => Promise<void>
}

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
): Promise<RehearsalLock> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'nightferry rehearse (holds the database)',
    connectionTimeoutMillis: 15_000,
    ...noticesSilence,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await keepIdle(client)
    await untilFree(signal, async () => {
      await takeLock(client, name)
      await check(client)
    })
    return {
      requireHeld: async () => {
        await client.query('select 1').catch((error: Error) => {
          const message = `The session that held the database of this rehearsal has ended (${error.message}), and another rehearsal may use the database. Nothing more is written there; try again.`
          throw new RehearsalRefused('rehearsal_under_way', message, { cause: error })
        })
      },
      [Symbol.asyncDispose]: () => client.end().catch(() => {}),
    }
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
