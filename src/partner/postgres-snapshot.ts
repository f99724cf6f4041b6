import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import Cursor from 'pg-cursor'
import {
  type AllRows,
  type CursorQuery,
  type DeltaQuery,
  type DeltaRows,
  firstCount,
  type Newest,
  nextCount,
  type PartnerOptions,
  type PartnerSnapshot,
  type QueryPlan,
  type StreamQuery,
  withoutSemicolon,
} from './dialect.ts'
import {
  brokeOff,
  keepAliveAfterMs,
  moreRoom,
  PartnerDatabaseError,
  queryFailed,
  requireColumns,
  tooSlow,
  unreachable,
} from './partner-errors.ts'
import {
  cursorSql,
  deltaSql,
  explainPostgres,
  lastRowSql,
  markerOf,
  NewestRow,
  oldestOpen,
  type PostgresBound,
  protectionOf,
  requireVersion,
  serverOf,
  textColumns,
} from './postgres-cursor.ts'

const textParser: pg.CustomTypesConfig = { getTypeParser: () => String as unknown as typeof pg.types.getTypeParser }

/** The connection, when it ends, and how long the server lets a statement take (milliseconds; 0: no limit). */
type Session = { client: pg.Client; ended: Promise<void>; limitMs: number }

/**
 * One read-only, repeatable-read transaction of a PostgreSQL server.
 * @throws {PartnerDatabaseError} `partner_too_old` before the oldest version that can be read.
 */
export async function openPostgresSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  const client = postgresClient(options, 'nightferry extract')
  const ended = new Promise<void>((resolve) => {
    client.once('end', () => {
      resolve()
    })
  })
  let bound: PostgresBound
  let server: string | null
  try {
    await client.connect()
    if (await isOurSession(client)) await client.query('set default_transaction_read_only = on')
    await requireVersion(client, options.url)
    server = await serverOf(client)
    bound = await oldestOpen(client)
    await client.query('begin isolation level repeatable read, read only')
    // For the transaction alone: before a pooler the session is not ours, and options of the connection are refused.
    await client.query(
      `select set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO', true), set_config('statement_timeout', $1, true)`,
      [String(options.statementTimeoutMs)],
    )
    // While rows of one stream are stored, nothing is asked here. Servers before 17 have one of the two.
    await client.query(
      `select set_config(name, '0', true)
       from unnest(array['idle_in_transaction_session_timeout', 'transaction_timeout']) name
       where current_setting(name, true) is not null`,
    )
    // The transaction takes its view of the database with its first statement, not with its beginning.
    await client.query('select pg_current_snapshot()')
  } catch (error) {
    await client.end().catch(() => {})
    throw unreachable(options.url, error)
  }
  const session: Session = { client, ended, limitMs: options.statementTimeoutMs }
  return {
    server,
    lacks: bound.lacks,
    openMs: bound.openMs,
    clock: bound.clock,
    cursorType: async (query) => {
      const type = (await describe(session, query)).get(query.cursor)
      const { rows } = await failing(
        session,
        query.stream,
        client.query<{ name: string }>('select format_type($1::oid, null) as name', [type]),
      )
      return rows[0]?.name ?? null
    },
    check: async (query) => {
      const fields = await describe(session, query)
      return query.cursor === null ? null : protectionOf(fields.get(query.cursor), bound)
    },
    explain: (query) => explain(session, bound, query),
    delta: (delta) => readDelta(session, bound, delta),
    all: (query) => readAll(session, bound, query),
    lines: (query) => readLines(session, query),
    hasRows: async (query) => {
      const { rowCount } = await failing(
        session,
        query.stream,
        client.query(`select from (${withoutSemicolon(query.query)}\n) s limit 1`),
      )
      return rowCount !== 0
    },
    close: async () => {
      await client.end().catch(() => {})
    },
  }
}

/** A client that reads every value as the server prints it. It is not connected yet. */
export function postgresClient(options: PartnerOptions, applicationName: string): pg.Client {
  const client = clientOf(options.url, {
    application_name: applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 15_000,
    keepAlive: true,
    types: textParser,
  })
  client.on('error', () => {})
  return client
}

/**
 * Whether the process that answers is the one that was named when we connected: then no pooler stands between us, and
 * what is set for the session is not left to anyone who gets it next.
 */
export async function isOurSession(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: string }>('select pg_backend_pid()::text as pid')
  return rows[0]?.pid === String((client as pg.Client & { processID: unknown }).processID)
}

/** The driver reads the URL here, and throws what it thinks of it. */
function clientOf(url: string, settings: pg.ClientConfig): pg.Client {
  try {
    return new pg.Client({
      ...settings,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveAfterMs,
      connectionString: url,
    })
  } catch (error) {
    throw unreachable(url, error)
  }
}

async function* readDelta(session: Session, bound: PostgresBound, delta: DeltaQuery): DeltaRows {
  const fields = await describe(session, delta)
  yield* readRows(session, delta, deltaSql(fields.get(delta.cursor), bound, delta))
}

/**
 * Sorted, the first row would come when the last one was read. The newest row is told by the texts on the way, or, for
 * a type whose texts do not say, asked for by itself.
 */
function readAll(session: Session, bound: PostgresBound, query: CursorQuery): AllRows {
  const { stream } = query
  let newest: Promise<Newest | null> | Newest | null = null
  async function* rows(): DeltaRows {
    const type = (await describe(session, query)).get(query.cursor)
    const { select } = cursorSql(type, bound, query)
    const met = new NewestRow(type, query)
    for await (const batch of readRows(session, query, { text: select, values: [] })) {
      met.look(batch)
      yield batch
    }
    if (met.isTold) {
      newest = met.newest
      return
    }
    const lastBy = async (key: 'by' | 'reached') => {
      const text = lastRowSql(type, bound, query, key)
      const asked = session.client.query<(string | null)[]>({ text, rowMode: 'array' })
      return (await failing(session, stream, asked)).rows[0]
    }
    const at = query.columns.length
    newest = lastBy('by').then(async (row) => {
      const reached = row?.[at + 1] == null ? row : await lastBy('reached')
      return row === undefined ? null : { row, reached: reached?.[at] ?? null }
    })
    // It is under way while the last rows are stored, and awaited after that.
    newest.catch(() => {})
  }
  return { rows: rows(), inOrder: false, newest: async () => await newest }
}

async function* readRows(
  session: Session,
  { stream, fetchRows }: StreamQuery,
  { text, values }: { text: string; values: unknown[] },
): DeltaRows {
  // The server counts its limit from here to the last row, whatever the batches: they end no statement.
  const asked = performance.now()
  const cursor = session.client.query(new Cursor(text, values, { rowMode: 'array' }))
  let failed = false
  const read = (count: number) => {
    const reading = cursor.read(count) as Promise<(string | null)[][]>
    // Anyone who stops listening never awaits what was asked for in advance.
    reading.catch(() => {
      failed = true
    })
    return reading
  }
  try {
    let reading = read(Math.min(firstCount, fetchRows))
    for (;;) {
      const rows = await reading
      if (rows.length === 0) return
      // The server makes the next rows while these are worked on.
      reading = read(nextCount(rows, fetchRows))
      yield rows
    }
  } catch (error) {
    throw readFailed(session, stream, error, asked)
  } finally {
    // Closing waits for an answer of the server, which a connection that broke off never brings. An error has ended
    // the cursor there, and the answer may have come by now.
    if (!failed) await Promise.race([cursor.close().catch(() => {}), session.ended])
  }
}

async function explain(
  session: Session,
  bound: PostgresBound,
  query: StreamQuery & { cursor: string | null },
): Promise<QueryPlan> {
  const fields = await describe(session, query)
  const whole = `select ${textColumns(query)} from (${withoutSemicolon(query.query)}\n) s`
  const type = query.cursor === null ? undefined : fields.get(query.cursor)
  const marker = markerOf(type)
  if (query.cursor === null || marker === null)
    return await failing(session, query.stream, explainPostgres(session.client, whole, null))
  const delta = deltaSql(type, bound, { ...query, cursor: query.cursor, from: marker, overlapMs: 0 })
  return await failing(session, query.stream, explainPostgres(session.client, whole, { ...delta, marker }))
}

/** The server writes the lines itself, and nobody parses them on the way. */
async function* readLines(session: Session, query: StreamQuery): AsyncGenerator<Buffer> {
  await describe(session, { ...query, cursor: null })
  const asked = performance.now()
  const copy = session.client.query(
    copyTo(`copy (select ${textColumns(query)} from (${withoutSemicolon(query.query)}\n) s) to stdout`),
  )
  // A stream over a connection that broke off ends with neither data nor error.
  const lost = session.ended.then(() => {
    copy.destroy(new Error('the connection ended'))
  })
  void lost
  let over = false
  try {
    for await (const chunk of copy.iterator({ destroyOnReturn: false })) yield chunk as Buffer
    over = true
  } catch (error) {
    over = true
    throw readFailed(session, query.stream, error, asked)
  } finally {
    // A reader that stops early leaves lines on the connection. They pass unread, and the next question waits for it.
    if (!over) copy.on('error', () => {}).resume()
  }
}

/** The driver knows more than its types say. */
type ExtendedQuery = pg.QueryConfig & { queryMode: 'extended' }

async function describe(
  session: Session,
  { stream, query, columns, cursor }: StreamQuery & { cursor: string | null },
): Promise<Map<string, number>> {
  // In this mode the server takes one statement alone: a second one could end the read-only transaction.
  const described: ExtendedQuery = {
    text: `select * from (${withoutSemicolon(query)}\n) s limit 0`,
    queryMode: 'extended',
  }
  const { fields } = await failing(session, stream, session.client.query(described))
  const wanted = cursor === null ? columns : [...columns, cursor]
  requireColumns(
    stream,
    wanted,
    fields.map(({ name }) => name),
  )
  return new Map(fields.map((field) => [field.name, field.dataTypeID]))
}

async function failing<T>(session: Session, stream: string, work: Promise<T>): Promise<T> {
  const asked = performance.now()
  try {
    return await work
  } catch (error) {
    throw readFailed(session, stream, error, asked)
  }
}

const queryCanceled = '57014'

/** The clocks of two machines do not run alike. */
const nearly = 0.9

/**
 * Whether `statement_timeout` ended the statement, or a person: the server gives both the same code, and words of its
 * own language.
 */
function tookTooLong({ limitMs }: Session, error: unknown, asked: number): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code !== queryCanceled || limitMs === 0) return false
  return performance.now() - asked >= limitMs * nearly
}

/** Classes of errors: connection, transaction (a standby's conflict, a deadlock), resources, operator, system. */
const troubledClasses = new Set(['08', '40', '53', '57', '58'])

/** A session or transaction whose time is over, a lock that was not to be had, an old snapshot. */
const troubledCodes = new Set(['25P03', '25P04', '55P03', '72000'])

const repair = "have what is broken in the partner's database repaired"

/**
 * Errors that another attempt meets as well, and what helps if the query is right. A reading writes temporary files
 * alone: a full disk, used up memory and a limit of such files are of its own making. A broken page stays broken.
 */
const otherwise: ReadonlyMap<string, string> = new Map([
  ...['53100', '53200', '53400'].map((code) => [code, moreRoom] as const),
  ...['XX001', 'XX002'].map((code) => [code, repair] as const),
])

/** Whether another run may not meet the error, although the query is the same. */
function isServersTrouble(code: string): boolean {
  return (troubledClasses.has(code.slice(0, 2)) && !otherwise.has(code)) || troubledCodes.has(code)
}

/** @param asked when the server began with it, by our monotonic clock. */
function readFailed(session: Session, stream: string, error: unknown, asked: number): PartnerDatabaseError {
  if (error instanceof PartnerDatabaseError) return error
  if (tookTooLong(session, error, asked)) return tooSlow(stream, error)
  const code = error instanceof pg.DatabaseError ? (error.code ?? '') : null
  if (code === null || isServersTrouble(code)) return brokeOff(stream, error)
  return queryFailed(stream, error, otherwise.get(code))
}
