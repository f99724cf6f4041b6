import { DummyDriver, Kysely, MssqlAdapter, MssqlIntrospector, MssqlQueryCompiler, type RawBuilder } from 'kysely'
import type * as Tedious from 'tedious'
import { loadDriver } from './load-driver.ts'
import { brokeOff, PartnerDatabaseError, queryFailed } from './partner-database-error.ts'
import { pushedRows } from './pushed-rows.ts'
import { readServerAddress, type ServerAddress } from './server-address.ts'

/** What the driver says of a column and makes of a value. */
export type SqlserverValue = { value: unknown; metadata: SqlserverMetadata }
export type SqlserverMetadata = {
  colName: string
  type: { name: string }
  dataLength?: number | undefined
  precision?: number | undefined
  scale?: number | undefined
}

export type SqlserverSession = {
  /** The whole answer to a statement of ours. */
  ask(statement: RawBuilder<unknown>): Promise<{ columns: SqlserverMetadata[]; rows: SqlserverValue[][] }>
  /** Rows a few at a time; the server waits while nobody takes them. */
  read(statement: RawBuilder<unknown>, fetchRows: number): AsyncGenerator<SqlserverValue[][]>
  beginSnapshot(): Promise<void>
  close(): Promise<void>
}

/** Writes statements in this dialect; the driver is asked directly, see docs/decisions/0015. */
const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new MssqlAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new MssqlIntrospector(db),
    createQueryCompiler: () => new MssqlQueryCompiler(),
  },
})

/** Parameters of the URL besides those of TLS. */
const allowed = ['instance']

/** Connects, and changes nothing about the session. `statementTimeoutMs`: 0 for no limit. */
export async function openSqlserverSession(
  url: string,
  limits: { connectTimeoutMs: number; statementTimeoutMs: number },
): Promise<SqlserverSession> {
  const tedious = await loadDriver('SQL Server', ['tedious'], () => import('tedious'))
  const address = await readServerAddress(url, { allowed, tlsByDefault: true })
  const connection = new tedious.Connection(connectionSettings(address, limits.connectTimeoutMs))
  // Anyone who waits for an answer is told of it; without a listener it would end the process.
  connection.on('error', () => {})
  let ended = false
  connection.once('end', () => {
    ended = true
  })
  await new Promise<void>((resolve, reject) => {
    connection.connect((error) => {
      if (error) reject(rootOf(error))
      else resolve()
    })
  })
  const open: Open = { tedious, connection, statementTimeoutMs: limits.statementTimeoutMs }
  return {
    ask: (statement) => ask(open, statement),
    read: (statement, fetchRows) => read(open, statement, fetchRows),
    beginSnapshot: () =>
      new Promise((resolve, reject) => {
        connection.beginTransaction(
          (error) => {
            if (error) reject(error)
            else resolve()
          },
          '',
          tedious.ISOLATION_LEVEL.SNAPSHOT,
        )
      }),
    close: () =>
      new Promise((resolve) => {
        if (ended) resolve()
        connection.once('end', resolve)
        connection.close()
      }),
  }
}

/** The driver says that a sequence of addresses failed; why is in the errors behind that. */
function rootOf(error: Error): Error {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error.cause]
  return first instanceof Error ? rootOf(first) : error
}

/** What the driver is told. Exported for the test of TLS settings. */
export function connectionSettings(
  { host, port, user, password, database, tls, parameters }: ServerAddress,
  connectTimeoutMs: number,
): Tedious.ConnectionConfiguration {
  const instanceName = parameters.get('instance')
  return {
    server: host,
    authentication: { type: 'default', options: { userName: user, password } },
    options: {
      ...(database !== null && { database }),
      // An instance has a port of its own, which the server's browser service knows.
      ...(instanceName === undefined ? { port: port ?? 1433 } : { instanceName }),
      encrypt: tls !== null,
      trustServerCertificate: tls !== null && !tls.verify,
      ...(tls?.ca !== undefined && { cryptoCredentialsDetails: { ca: tls.ca } }),
      connectTimeout: connectTimeoutMs,
      // The driver's limit ends with the first row; ours does not.
      requestTimeout: 0,
      appName: 'nightferry extract',
      useUTC: true,
    },
  }
}

type Open = { tedious: typeof Tedious; connection: Tedious.Connection; statementTimeoutMs: number }

async function ask(open: Open, statement: RawBuilder<unknown>) {
  const rows: SqlserverValue[][] = []
  let columns: SqlserverMetadata[] = []
  await new Promise<void>((resolve, reject) => {
    const request = requestOf(open, statement, (error) => {
      if (error) reject(error)
      else resolve()
    })
    request.on('columnMetadata', (list) => {
      columns = Array.isArray(list) ? list : Object.values(list)
    })
    request.on('row', (row: SqlserverValue[]) => rows.push(row))
    open.connection.execSql(request)
  })
  return { columns, rows }
}

function bytesOf(row: SqlserverValue[]): number {
  return row.reduce(
    (sum, { value }) =>
      sum + (typeof value === 'string' ? 2 * value.length : Buffer.isBuffer(value) ? value.length : 0),
    0,
  )
}

async function* read(
  open: Open,
  statement: RawBuilder<unknown>,
  fetchRows: number,
): AsyncGenerator<SqlserverValue[][]> {
  let finished = () => {}
  const answered = new Promise<void>((resolve) => {
    finished = resolve
  })
  const request = requestOf(open, statement, (error) => {
    if (error) rows.fail(error)
    else rows.end()
    finished()
  })
  const rows = pushedRows<SqlserverValue[]>(fetchRows, bytesOf, request)
  let wanted = true
  request.on('row', (row: SqlserverValue[]) => {
    if (wanted) rows.push(row)
  })
  open.connection.execSql(request)
  try {
    yield* rows.batches()
  } finally {
    wanted = false
    // The next statement has to wait until the server has stopped with this one.
    open.connection.cancel()
    await answered
  }
}

/** A request that is cancelled when its time is over, however far its answer has come. */
function requestOf(
  { tedious, connection, statementTimeoutMs }: Open,
  statement: RawBuilder<unknown>,
  done: (error: unknown) => void,
): Tedious.Request {
  const { sql, parameters } = statement.compile(compiler)
  let overdue = false
  const timer =
    statementTimeoutMs === 0
      ? undefined
      : setTimeout(() => {
          overdue = true
          connection.cancel()
        }, statementTimeoutMs)
  const request = new tedious.Request(sql, (error) => {
    clearTimeout(timer)
    done(overdue && error ? new Error(`the statement took longer than ${statementTimeoutMs} ms`) : error)
  })
  for (const [index, value] of parameters.entries()) {
    request.addParameter(
      String(index + 1),
      Buffer.isBuffer(value) ? tedious.TYPES.VarBinary : tedious.TYPES.NVarChar,
      value,
    )
  }
  return request
}

/** A snapshot that met a change of a table's definition, which another run will not. */
const snapshotLost = new Set([3960, 3961, 3966])
/** Errors of this class and above are the server's own trouble, not the statement's. */
const serverTrouble = 17

/** What an error of the driver means for the stream that was read. */
export function readFailed(stream: string, error: unknown): PartnerDatabaseError {
  if (error instanceof PartnerDatabaseError) return error
  const { number, class: severity = 0 } = error as { number?: number; class?: number }
  const lost = number === undefined || severity >= serverTrouble || snapshotLost.has(number)
  return lost ? brokeOff(stream, error) : queryFailed(stream, error)
}
