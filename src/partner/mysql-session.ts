import { DummyDriver, Kysely, MysqlAdapter, MysqlIntrospector, MysqlQueryCompiler, type RawBuilder, sql } from 'kysely'
import type { Connection, FieldPacket } from 'mysql2'
import type { PartnerOptions } from './dialect.ts'
import {
  type Encryption,
  examinationIn,
  type PartnerExamination,
  type PartnerRights,
  toldRights,
} from './examination.ts'
import { type ErrorKinds, keepAliveAfterMs, moreRoom } from './partner-errors.ts'
import {
  inSession,
  loadDriver,
  pushedRows,
  readServerAddress,
  type ServerAddress,
  type ServerSession,
} from './server-session.ts'

/** A value as the server wrote it on the wire. */
export type MysqlValue = Buffer | null
export type MysqlSession = ServerSession<FieldPacket, MysqlValue>

/** Writes statements in this dialect; the driver is asked directly, see docs/decisions/0015. */
const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new MysqlIntrospector(db),
    createQueryCompiler: () => new MysqlQueryCompiler(),
  },
})

function readMysqlAddress(url: string): Promise<ServerAddress> {
  return readServerAddress(url, { allowed: ['socket'], tlsByDefault: false })
}

/** @throws {Error} as `readServerAddress` does. */
export async function mysqlEncryption(url: string): Promise<Encryption> {
  const { host, tls, parameters } = await readMysqlAddress(url)
  return { host: parameters.has('socket') ? null : host, encrypted: tls !== null }
}

/** Connects, and changes nothing about the session. */
export async function openMysqlSession({ url, connectTimeoutMs }: Required<PartnerOptions>): Promise<MysqlSession> {
  const { createConnection } = await loadDriver('MySQL or MariaDB', ['mysql2'], () => import('mysql2'))
  const address = await readMysqlAddress(url)
  const socketPath = address.parameters.get('socket')
  const connection = createConnection({
    host: address.host,
    port: address.port ?? 3306,
    user: address.user,
    password: address.password,
    ...(address.database !== null && { database: address.database }),
    ...(socketPath !== undefined && { socketPath }),
    ...(address.tls !== null && {
      ssl: {
        rejectUnauthorized: address.tls.verify,
        verifyIdentity: address.tls.verify,
        ...(address.tls.ca !== undefined && { ca: address.tls.ca }),
      },
    }),
    charset: 'UTF8MB4_UNICODE_CI',
    connectTimeout: connectTimeoutMs,
    enableKeepAlive: true,
    keepAliveInitialDelay: keepAliveAfterMs,
    connectAttributes: { program_name: 'nightferry extract' },
    // The server could otherwise ask for files of this machine; and the names of functions would be reserved words.
    flags: ['-LOCAL_FILES', '-IGNORE_SPACE'],
    rowsAsArray: true,
    typeCast: false,
  })
  // A read that has no callback hears of a lost connection here only.
  const reads = new Set<(error: unknown) => void>()
  connection.on('error', (error: unknown) => {
    for (const fail of reads) fail(error)
  })
  await new Promise<void>((resolve, reject) => {
    connection.connect((error) => {
      if (error) reject(error)
      else resolve()
    })
  })
  return {
    ask: (statement) => ask(connection, statement),
    read: (statement, fetchRows) => read(connection, reads, statement, fetchRows),
    close: () => close(connection, reads.size > 0),
  }
}

/** Without parameters, see `textLiteral`. */
function compiled(statement: RawBuilder<unknown>): { sql: string } {
  return { sql: statement.compile(compiler).sql }
}

async function ask(connection: Connection, statement: RawBuilder<unknown>) {
  return await new Promise<{ fields: FieldPacket[]; rows: (string | null)[][] }>((resolve, reject) => {
    connection.query(compiled(statement), (error, rows, fields) => {
      if (error) reject(error)
      else {
        const texts = Array.isArray(rows) ? (rows as unknown as MysqlValue[][]) : []
        resolve({ fields: fields ?? [], rows: texts.map((row) => row.map((value) => value?.toString('utf8') ?? null)) })
      }
    })
  })
}

function bytesOf(row: MysqlValue[]): number {
  return row.reduce((sum, value) => sum + (value?.length ?? 0), 0)
}

async function* read(
  connection: Connection,
  reads: Set<(error: unknown) => void>,
  statement: RawBuilder<unknown>,
  fetchRows: number,
): AsyncGenerator<MysqlValue[][]> {
  const rows = pushedRows<MysqlValue[]>(fetchRows, bytesOf, {
    pause: () => {
      connection.pause()
    },
    resume: () => {
      connection.resume()
    },
  })
  reads.add(rows.fail)
  const query = connection.query(compiled(statement))
  query.on('error', rows.fail)
  query.on('result', (row: unknown) => {
    rows.push(row as MysqlValue[])
  })
  query.on('end', () => {
    reads.delete(rows.fail)
    rows.end()
  })
  try {
    yield* rows.batches()
  } finally {
    // What is left of the answer stands before the next one on the wire, and is passed over.
    connection.resume()
  }
}

/** A server that is still answering would let a polite goodbye wait. */
async function close(connection: Connection, reading: boolean): Promise<void> {
  if (!reading) await new Promise<void>((resolve) => connection.end(() => resolve()))
  connection.destroy()
}

/**
 * The errors of a server that stops, or ends the connection or the statement; or whose locks and snapshot did not allow
 * what another run may read.
 */
const brokenOff = new Set([
  ...[1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1317, 1927, 4031],
  ...[1205, 1213, 1412],
])

/** No space, no memory (of all, of a sort, of the system): the statement would use up as much again. */
const usedUp = new Set([1021, 1037, 1038, 1041])

/** The errors of a statement that met `max_statement_time` (MariaDB) or `max_execution_time` (MySQL). */
const outOfTime = new Set([1969, 3024])

/** How the errors of the driver are told apart. */
export const mysqlErrors: ErrorKinds = {
  isLost: (error) => {
    const { sqlState, errno, fatal } = error as { sqlState?: string; errno?: number; fatal?: boolean }
    return fatal === true || sqlState === undefined || (errno !== undefined && brokenOff.has(errno))
  },
  isTooSlow: (error) => outOfTime.has((error as { errno?: number }).errno ?? 0),
  otherwise: (error) => (usedUp.has((error as { errno?: number }).errno ?? 0) ? moreRoom : null),
}

/** A session of a MySQL or MariaDB server that only asks. */
export async function examineMysql(options: PartnerOptions): Promise<PartnerExamination> {
  return await inSession(options, openMysqlSession, async (session) => {
    const version = (await session.ask(sql`select version()`)).rows[0]?.[0] ?? ''
    const isMariadb = version.includes('MariaDB')
    const limit = options.statementTimeoutMs
    await session.ask(
      isMariadb
        ? sql`set session max_statement_time = ${sql.lit(limit / 1000)}`
        : sql`set session max_execution_time = ${sql.lit(limit)}`,
    )
    return examinationIn(session, {
      product: isMariadb ? `MariaDB ${version.replace(/-MariaDB.*/, '')}` : `MySQL ${version}`,
      clock: sql`select cast(1000 * unix_timestamp(sysdate(6)) as char)`,
      columns: sql`
        select table_schema, table_name, column_name, column_type from information_schema.columns
        where table_schema not in ('information_schema', 'performance_schema', 'mysql', 'sys')
        order by table_schema <> database(), table_schema, table_name, ordinal_position`,
      rightsOf,
    })
  })
}

/** Privileges with which nothing can be written. */
const reading = ['SELECT', 'USAGE', 'PROCESS', 'SHOW DATABASES', 'SHOW VIEW', 'REPLICATION CLIENT', 'BINLOG MONITOR']

/** What was granted to the account itself; a role that was granted to it is named, not followed. */
async function rightsOf(session: MysqlSession): Promise<PartnerRights> {
  const harmless = sql.join(reading.map((name) => sql.lit(name)))
  const ours = sql`concat('''', substring_index(current_user(), '@', 1), '''@''',
    substring_index(current_user(), '@', -1), '''')`
  const { rows } = await session.ask(sql`
    select lower(privilege_type), 'everything' as what, 0 as broad from information_schema.user_privileges
    where grantee = ${ours} and privilege_type not in (${harmless})
    union all
    select lower(privilege_type), concat('the database ', table_schema), 1 from information_schema.schema_privileges
    where grantee = ${ours} and privilege_type not in (${harmless})
    union all
    select lower(privilege_type), concat(table_schema, '.', table_name), 2 from information_schema.table_privileges
    where grantee = ${ours} and privilege_type not in (${harmless})
    union all
    select lower(privilege_type), concat(table_schema, '.', table_name, '.', column_name), 3
    from information_schema.column_privileges
    where grantee = ${ours} and privilege_type not in (${harmless})
    order by 3, 2, 1`)
  const roles = await session.ask(sql`
    select role_name from information_schema.enabled_roles where role_name is not null and role_name <> 'NONE'`)
  const administrator = rows.some(([privilege, what]) => privilege === 'super' && what === 'everything')
  const named = roles.rows.map(([role]) => role).join(', ')
  return toldRights(
    rows.map(([privilege, what]) => `${privilege} on ${what}`),
    { administrator, untold: named === '' ? null : `what its roles (${named}) may do` },
  )
}
