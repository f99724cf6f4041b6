import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Database } from './database.ts'
import { isSendingRun } from './runs/spoken-for.ts'

/** How many connections our role may have to the database at most, and how many of them are free now. */
type ConnectionRoom = { limit: number; free: number }

/**
 * What the server, the role and the database allow, each less what is in use or reserved; the least counts. Limits of
 * roles and databases do not bind superusers.
 */
export async function connectionRoom(db: Database): Promise<ConnectionRoom> {
  const { rows } = await sql<ConnectionRoom>`
    with us as (
      select r.rolsuper, r.rolname, r.rolconnlimit, d.datname, d.datconnlimit,
        current_setting('max_connections')::int as most,
        coalesce(current_setting('superuser_reserved_connections', true)::int, 0)
          + coalesce(current_setting('reserved_connections', true)::int, 0) as reserved
      from pg_roles r, pg_database d where r.rolname = current_user and d.datname = current_database()
    ), used as (
      select count(*) as by_all,
        count(*) filter (where a.usename = us.rolname) as by_role,
        count(*) filter (where a.datname = us.datname) as in_database
      from pg_stat_activity a, us where a.backend_type = 'client backend'
    ), limits as (
      select most - case when rolsuper then 0 else reserved end as allowed, by_all as taken from us, used
      union all select rolconnlimit, by_role from us, used where rolconnlimit >= 0 and not rolsuper
      union all select datconnlimit, in_database from us, used where datconnlimit >= 0 and not rolsuper
    )
    select min(allowed)::int as limit, min(allowed - taken)::int as free from limits`.execute(db)
  const [room] = rows
  if (room === undefined) throw new Error('the server does not know the role that asks it')
  return room
}

/** A pooler gives our statements to whichever session is free, and we need one that is ours. */
export class SessionNotKept extends Error {
  readonly code = 'database_session_not_kept'
}

/** Only we ask for it, so the server does not have to know it. */
const mark = 'nightferry.session'

/** A pool with no session left would keep us waiting; either side's answer decides. Milliseconds. */
const patienceMs = 5_000

/**
 * Finds out whether what a connection sets is there for its next statement. A server that was reached without a pooler
 * says so by itself: it names the process that serves the connection, and that is the one that answers. Behind a pooler
 * a second connection takes the session that the first has just used, if it was given back; then the first is answered
 * by another.
 *
 * Without a session of its own a lock is nobody's, LISTEN hears nothing, and names are looked for in other schemas.
 * @param another opens a second connection to the same address.
 * @throws {SessionNotKept} without the address, which may contain a password.
 */
export async function requireKeptSession(client: pg.Client, another: () => Promise<pg.Client>): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  if (rows[0]?.pid === (client as pg.Client & { processID: unknown }).processID) return
  await client.query(`select set_config('${mark}', 'kept', false)`)
  const second = await another()
  try {
    // Where sessions are kept, the pool may have none for the second: then there is nothing to compare.
    const taken = await within(second.query('begin').then(() => second.query('select 1'))).catch(refusedToBegin)
    if (taken === null) return
    if (taken === 'refused') throw notKept()
    const asked = client.query<{ mark: string | null }>(`select current_setting('${mark}', true) as mark`)
    if ((await within(asked))?.rows[0]?.mark === 'kept') return
    throw notKept()
  } finally {
    await Promise.race([second.end().catch(() => {}), delay(patienceMs)])
  }
}

function notKept(): SessionNotKept {
  return new SessionNotKept(
    'gives each transaction whichever session is free (PgBouncer: pool_mode = transaction or statement). Nightferry needs sessions of its own, for locks, for LISTEN and for settings. Set DATABASE_URL to the server itself, or to a pool with pool_mode = session.',
  )
}

/** A pooler that gives out single statements takes no transaction, and says that our protocol is wrong. */
function refusedToBegin(error: Error & { code?: unknown }): 'refused' {
  if (error.code === '08P01') return 'refused'
  throw error
}

/** What a query answers, or null if that takes too long. */
async function within<T>(query: Promise<T>): Promise<T | null> {
  query.catch(() => {})
  return await Promise.race([query, delay(patienceMs, null, { ref: false })])
}

/** What a server answers that is only like PostgreSQL, or that does not let our role ask. */
const cannotTell = new Set(['42501', '42883', '42P01', '42703', '0A000'])

/**
 * Which copy of our database this is: the cluster, its timeline, the database's own number and that of a table. A
 * restore of files begins another timeline, and one of a dump makes another table.
 * @returns null where the server does not tell.
 */
export async function copyInUse(db: Database): Promise<string | null> {
  try {
    const { rows } = await sql<{ copy: string }>`
      select concat_ws('/', (select system_identifier from pg_control_system()),
                            (select timeline_id from pg_control_checkpoint()),
                            (select oid from pg_database where datname = current_database()),
                            'run'::regclass::oid) as copy`.execute(db)
    return rows[0]?.copy ?? null
  } catch (error) {
    if (!cannotTell.has((error as { code?: string }).code ?? '')) throw error
    return null
  }
}

/**
 * Notes on a run that sends rows which copy of our database it is stored in. Other runs compare alone: the next that
 * sends rows, by which people judge the ledger, has to find the same.
 * @returns the newest earlier run that says so, if that was another copy: a backup came back since, or the database was
 *   moved. Null otherwise.
 */
export async function runOfOtherCopy(db: Database, runId: number): Promise<number | null> {
  const copy = await copyInUse(db)
  if (copy === null) return null
  await db
    .updateTable('run')
    .set({ own_database: copy })
    .where('run_id', '=', runId)
    .where(isSendingRun('run'))
    .execute()
  const earlier = await newestCopy(db, runId)
  return earlier === null || earlier.copy === copy ? null : earlier.runId
}

/**
 * The newest run that sends rows and says in which copy it ended; null where none does.
 * @param before only runs with a smaller number.
 */
export async function newestCopy(
  db: Database,
  before: number | null = null,
): Promise<{ runId: number; copy: string } | null> {
  const found = await db
    .selectFrom('run')
    .select(['run_id', 'own_database'])
    .$if(before !== null, (newest) => newest.where('run_id', '<', before))
    .where('own_database', 'is not', null)
    // Earlier versions noted it on others as well.
    .where(isSendingRun('run'))
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found?.own_database == null ? null : { runId: found.run_id, copy: found.own_database }
}
