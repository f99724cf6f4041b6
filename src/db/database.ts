import { Kysely, PostgresDialect, sql } from 'kysely'
import pg, { type ClientBase } from 'pg'
import type { Schema } from './tables/database-schema.ts'

export type Database = Kysely<Schema>

type PoolOptions = {
  /** Connections at most. */
  max: number
  /** Shown in pg_stat_activity, so that a person sees whose connection it is. */
  applicationName: string
  /** Schemas searched for unqualified names, in this order. */
  searchPath: string
  /** Told of connections that die while idle; the pool replaces them. */
  onIdleError: (error: Error) => void
  /** Milliseconds to wait for a connection, from the pool and from the server. */
  connectTimeoutMs?: number
  /** Every transaction begins read-only, so that a mistake of ours writes nothing. */
  readOnly?: boolean
  /** How long a statement waits for a lock; without it, for as long as it takes. Milliseconds. */
  lockTimeoutMs?: number
  /** A statement ends at the server soon after its client is gone, instead of going on for nobody. */
  endsWithClient?: boolean
  /** How long a statement may take; without it, for as long as it takes. Milliseconds. */
  statementTimeoutMs?: number
}

const int8 = 20

/** 64-bit integers are read as numbers: every one of ours is a count or an identity column, far below 2^53. */
const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 && format !== 'binary'
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** The server lets go of a client whose host died, and of its locks, within a minute; its own default is two hours. */
const keepAlives = { tcp_keepalives_idle: '20', tcp_keepalives_interval: '10', tcp_keepalives_count: '3' }

/**
 * Statements of ours have many expressions and read few of the rows that the planner expects. Servers compile by
 * default what looks costly: the report of 40 hotels took five seconds, all of them in the compiler.
 */
const uncompiled = { jit: 'off' }

/**
 * How values are printed, texts read and transactions isolated: the role, the database or the server may have it
 * otherwise for all who use it. The driver takes a time that is printed in another form for none, and statements that
 * take turns under a lock would fail as those of transactions that see one moment.
 */
export const ofOurs = {
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
}

/**
 * A pool of connections to one database. Every client carries an error listener: a killed backend must not end the
 * process.
 */
export function createPool(url: string, options: PoolOptions): pg.Pool {
  const { readOnly = false, endsWithClient = false, lockTimeoutMs = 0, statementTimeoutMs = 0 } = options
  const session = {
    search_path: options.searchPath,
    timezone: 'UTC',
    ...keepAlives,
    ...uncompiled,
    ...ofOurs,
    ...(readOnly && { default_transaction_read_only: 'on' }),
    // 0 is none, which the role, the database or the server may have otherwise for all who use it.
    lock_timeout: String(lockTimeoutMs),
    statement_timeout: String(statementTimeoutMs),
  }
  const prepare = async (client: ClientBase): Promise<void> => {
    await setForSession(client, session)
    await keepIdle(client)
    if (endsWithClient) await endWithClient(client)
  }
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    application_name: options.applicationName,
    // The pool waits for it, and gives nobody a client without its settings; its types do not say so.
    onConnect: (client): void => prepare(client) as unknown as undefined,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 15_000,
    ...noticesSilence,
    types: typeParsers,
  })
  pool.on('error', options.onIdleError)
  pool.on('connect', (client) => client.on('error', options.onIdleError))
  return pool
}

export function createDatabase<S = Schema>(pool: pg.Pool): Kysely<S> {
  return new Kysely<S>({ dialect: new PostgresDialect({ pool }) })
}

/** One connection seen twice: as a client, for COPY, cursors and locks, and as Kysely running on that same client. */
export type Session = { client: pg.PoolClient; db: Database }

/**
 * Borrows one connection for `work`. A connection on which `work` failed is closed, not returned:
 * an interrupted COPY or an open transaction must not reach the next borrower.
 */
export async function withSession<T>(pool: pg.Pool, work: (session: Session) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken = true
  try {
    const release = () => {}
    const borrowed = new Proxy(client, {
      get: (target, key) => {
        if (key === 'release') return release
        const value = Reflect.get(target, key) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const db = new Kysely<Schema>({
      dialect: new PostgresDialect({
        pool: { connect: async () => borrowed, end: async () => {} } as unknown as pg.Pool,
      }),
    })
    const result = await work({ client, db })
    broken = false
    return result
  } finally {
    client.release(broken)
  }
}

/** A connection has one statement at a time. Those who share one take turns, in the order in which they ask. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()
  #stopped: { reason: unknown } | null = null

  /** Does the work when all that was asked for before has ended, however it did. Rejects as the work does. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const unlessStopped = async () => {
      if (this.#stopped !== null) throw this.#stopped.reason
      return await work()
    }
    const done = this.#last.then(unlessStopped, unlessStopped)
    this.#last = done
    return done
  }

  /**
   * Ends it: what waits is not done, and neither is what is asked for from now on; both reject with the reason. To be
   * called before a transaction is rolled back: a statement that is sent afterwards stands by itself.
   * @returns when what is under way has ended, however it did.
   */
  async stop(reason: unknown): Promise<void> {
    this.#stopped ??= { reason }
    await this.#last.catch(() => {})
  }
}

/**
 * Gives a session its settings once it is connected. As options of the connection they would be one message less, but
 * a pooler such as PgBouncer refuses those, or passes them over.
 */
export async function setForSession(
  client: Pick<ClientBase, 'query'>,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const entries = Object.entries(settings)
  const calls = entries.map((_, at) => `set_config($${2 * at + 1}, $${2 * at + 2}, false)`)
  await client.query(`select ${calls.join(', ')}`, entries.flat())
}

/**
 * Has the server look every second, while it works on a statement of this session, whether the client is still there.
 * It would look only when it has an answer, and go on till then for a process that was interrupted or killed. A server
 * that cannot look, such as one on Windows, refuses the setting and goes on without.
 */
export async function endWithClient(client: Pick<ClientBase, 'query'>): Promise<void> {
  await setForSession(client, { client_connection_check_interval: '1s' }).catch(() => {})
}

/** Time-outs of which servers before 14, and before 17, do not know one or two. */
const idleTimeOuts = ['idle_session_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout']

/**
 * Has the server keep a session that does nothing, whatever it is set to for others: one that holds a lock, or a
 * transaction, does nothing for as long as the work beside it takes, such as a question to the partner's server.
 */
export async function keepIdle(client: Pick<ClientBase, 'query'>): Promise<void> {
  await client.query(
    `select set_config(name, '0', false) from unnest($1::text[]) name where current_setting(name, true) is not null`,
    [idleTimeOuts],
  )
}

/**
 * How a connection to our own database notices that its network died in silence: the kernel asks after so many
 * milliseconds without a word whether the other end is there. Its own default is two hours, in which a run would wait
 * for an answer that cannot come.
 */
export const noticesSilence = { keepAlive: true, keepAliveInitialDelayMillis: 20_000 } as const

/** What the driver is told of the connections of the queue, whose pool is not ours. */
export const connectionsOfQueue = {
  ...noticesSilence,
  onConnect: (client: ClientBase) => setForSession(client, ofOurs),
} as const

/** A clock that is asked for again this soon is not read from the database again, in milliseconds. */
const freshMs = 1_000

/**
 * The clock of Nightferry's own database, by which all delays are reckoned: processes differ, and each may be wrong.
 * Between two readings it goes on by this process's monotonic clock, which nobody sets.
 */
type DatabaseClock = {
  now: () => Date
  /** Reads it again unless that was done a moment ago. The database's clock, too, may be set while a process runs. */
  read: () => Promise<void>
}

export async function openDatabaseClock(db: Database): Promise<DatabaseClock> {
  let offsetMs = 0
  let readAt = -Infinity
  const read = async (): Promise<void> => {
    if (performance.now() - readAt < freshMs) return
    const asked = performance.now()
    const { rows } = await sql<{ at: number }>`
      select (1000 * extract(epoch from clock_timestamp()))::float8 as at`.execute(db)
    const answered = performance.now()
    const at = rows[0]?.at
    if (at === undefined) throw new Error('the database did not say what time it is')
    offsetMs = at - (asked + answered) / 2
    readAt = answered
  }
  await read()
  return { now: () => new Date(offsetMs + performance.now()), read }
}

/** Some of the rows that there are, and how many more. */
export type Listed<T> = { rows: T[]; more: number }

/** Rows of a statement with a limit, each with `found`: how many there are without it. Pure. */
export function listed<T extends { found: number }>(rows: readonly T[]): Listed<Omit<T, 'found'>> {
  const all = rows[0]?.found ?? 0
  return { rows: rows.map(({ found: _, ...row }) => row), more: all - rows.length }
}

type Question<T> = (db: Database) => Promise<T>

/**
 * How much of the server two questions may take, while a person waits for both.
 *
 * `workers`: other processes of the server share the scans of the first question, for one that reads much and answers
 * little. The server keeps the last word: it starts no more of them than `max_parallel_workers`. Our own server does
 * not do so by itself, because large sorts and joins would need more shared memory than a container has; a count needs
 * little.
 *
 * `apart`: each question has a connection, and both are asked at once, which is quicker; for a process that answers one
 * person and has its connections to itself. Where many ask, each would hold one and wait for another.
 */
export type Hurry = 'none' | 'workers' | 'apart'

/** The statement's own session reads too. */
const workersAsked = 2

/** Asks two questions about the same moment, though rows change between two statements. */
export async function askBoth<A, B>(
  db: Database,
  first: Question<A>,
  second: Question<B>,
  hurry: Hurry = 'none',
): Promise<[A, B]> {
  return await atOneMoment(db, async (trx) => {
    // Another connection may not be had: the server has no more. Then both are asked on this one.
    const beside = hurry === 'apart' ? askBeside(db, await momentOf(trx), second) : null
    // Its error is met below, unless the first question fails before.
    beside?.catch(() => {})
    if (hurry === 'workers') {
      await sql`select set_config('max_parallel_workers_per_gather', ${String(workersAsked)}, true)`.execute(trx)
    }
    const answer = await first(trx)
    return [answer, ((await beside) ?? answered(await second(trx))).answer]
  })
}

function answered<T>(answer: T): { answer: T } {
  return { answer }
}

/** Null where the question could not be asked; where it was and failed, that is the answer. */
async function askBeside<T>(db: Database, moment: string, question: Question<T>): Promise<{ answer: T } | null> {
  let asked = false
  try {
    return await atOneMoment(db, async (trx) => {
      await sql`set transaction snapshot ${sql.lit(moment)}`.execute(trx)
      asked = true
      return answered(await question(trx))
    })
  } catch (error) {
    if (asked) throw error
    return null
  }
}

async function momentOf(trx: Database): Promise<string> {
  const { rows } = await sql<{ moment: string }>`select pg_export_snapshot() as moment`.execute(trx)
  if (rows[0] === undefined) throw new Error('the server exported no snapshot')
  return rows[0].moment
}

async function atOneMoment<T>(db: Database, work: Question<T>): Promise<T> {
  return await db.transaction().setIsolationLevel('repeatable read').execute(work)
}
