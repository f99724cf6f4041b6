import { DummyDriver, Kysely, MssqlAdapter, MssqlIntrospector, MssqlQueryCompiler, type RawBuilder, sql } from 'kysely'
import type * as Tedious from 'tedious'
import type { PartnerOptions } from './dialect.ts'
import {
  type Encryption,
  examinationIn,
  type PartnerExamination,
  type PartnerRights,
  toldRights,
} from './examination.ts'
import { type ErrorKinds, moreRoom } from './partner-errors.ts'
import {
  inSession,
  loadDriver,
  pushedRows,
  readServerAddress,
  type ServerAddress,
  type ServerSession,
} from './server-session.ts'

/** What the driver makes of a value. */
export type SqlserverValue = { value: unknown }
/** What it says of a column. */
export type SqlserverField = {
  name: string
  type: { name: string }
  dataLength?: number | undefined
  precision?: number | undefined
  scale?: number | undefined
}

export type SqlserverSession = ServerSession<SqlserverField, SqlserverValue> & { beginSnapshot(): Promise<void> }

/** Writes statements in this dialect; the driver is asked directly, see docs/decisions/0015. */
const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new MssqlAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new MssqlIntrospector(db),
    createQueryCompiler: () => new MssqlQueryCompiler(),
  },
})

function readSqlserverAddress(url: string): Promise<ServerAddress> {
  return readServerAddress(url, { allowed: ['instance'], tlsByDefault: true })
}

/** @throws {Error} as `readServerAddress` does. */
export async function sqlserverEncryption(url: string): Promise<Encryption> {
  const { host, tls } = await readSqlserverAddress(url)
  return { host, encrypted: tls !== null }
}

/** Connects, and changes nothing about the session. */
export async function openSqlserverSession(options: Required<PartnerOptions>): Promise<SqlserverSession> {
  const tedious = await loadDriver('SQL Server', ['tedious'], () => import('tedious'))
  const address = await readSqlserverAddress(options.url)
  const connection = new tedious.Connection(connectionSettings(address, options.connectTimeoutMs))
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
  const open: Open = { tedious, connection, statementTimeoutMs: options.statementTimeoutMs }
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
  const rows: (string | null)[][] = []
  let fields: SqlserverField[] = []
  await new Promise<void>((resolve, reject) => {
    const request = requestOf(open, statement, (error) => {
      if (error) reject(error)
      else resolve()
    })
    request.on('columnMetadata', (list) => {
      const columns = Array.isArray(list) ? list : Object.values(list)
      fields = columns.map((column) => ({ ...column, name: column.colName }))
    })
    request.on('row', (row: SqlserverValue[]) =>
      rows.push(row.map(({ value }) => (typeof value === 'string' ? value : null))),
    )
    open.connection.execSql(request)
  })
  return { fields, rows }
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
  request.on('row', rows.push)
  open.connection.execSql(request)
  try {
    yield* rows.batches()
  } finally {
    // The next statement has to wait until the server has stopped with this one.
    open.connection.cancel()
    await answered
  }
}

/** The driver's own code of a request whose time is over. */
const requestOver = 'ETIMEOUT'

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
    done(
      overdue && error
        ? new tedious.RequestError(`it was not done after ${statementTimeoutMs} ms`, requestOver)
        : error,
    )
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

/** A deadlock, a lock, a lost version of a row or a changed definition, which another run may not meet. */
const snapshotLost = new Set([1205, 1222, 3958, 3960, 3961, 3966])
/** Errors of this class and above are the server's own trouble, not the statement's. */
const serverTrouble = 17
/** No memory, no space in tempdb or its log, no locks: the statement would use up as much again. */
const usedUp = new Set([701, 1101, 1105, 1204, 8651, 9002])

/** How the errors of the driver are told apart. */
export const sqlserverErrors: ErrorKinds = {
  isLost: (error) => {
    const { number, class: severity = 0 } = error as { number?: number; class?: number }
    return number === undefined || (severity >= serverTrouble && !usedUp.has(number)) || snapshotLost.has(number)
  },
  isTooSlow: (error) => (error as { code?: string }).code === requestOver,
  otherwise: (error) => (usedUp.has((error as { number?: number }).number ?? 0) ? moreRoom : null),
}

/** A session of a SQL Server that only asks. */
export async function examineSqlserver(options: PartnerOptions): Promise<PartnerExamination> {
  return await inSession(options, openSqlserverSession, async (session) => {
    const { rows } = await session.ask(sql`select convert(varchar(50), serverproperty('ProductVersion'))`)
    return examinationIn(session, {
      product: `SQL Server ${rows[0]?.[0] ?? ''}`,
      clock: sql`select convert(varchar(20), datediff_big(millisecond, '19700101', sysutcdatetime()))`,
      columns: sql`
        select table_schema, table_name, column_name, data_type from information_schema.columns
        order by case when table_schema = schema_name() then 0 else 1 end, table_schema, table_name, ordinal_position`,
      rightsOf,
    })
  })
}

async function rightsOf(session: SqlserverSession): Promise<PartnerRights> {
  const administrator = await session.ask(sql`select convert(varchar(5), is_srvrolemember('sysadmin'))`)
  const { rows } = await session.ask(
    sql`select lower(permission_name) + ' in the database' from fn_my_permissions(null, 'DATABASE')
        where permission_name in ('INSERT', 'UPDATE', 'DELETE', 'ALTER', 'CONTROL') or permission_name like 'CREATE %'
        union all
        select 'write ' + quotename(s.name) + '.' + quotename(o.name)
        from sys.objects o join sys.schemas s on s.schema_id = o.schema_id
        where o.type in ('U', 'V')
          and 1 in (has_perms_by_name(quotename(s.name) + '.' + quotename(o.name), 'OBJECT', 'INSERT'),
                    has_perms_by_name(quotename(s.name) + '.' + quotename(o.name), 'OBJECT', 'UPDATE'),
                    has_perms_by_name(quotename(s.name) + '.' + quotename(o.name), 'OBJECT', 'DELETE'))
        order by 1`,
  )
  return toldRights(
    rows.flatMap(([what]) => what ?? []),
    { administrator: administrator.rows[0]?.[0] === '1' },
  )
}
