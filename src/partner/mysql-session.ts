import { DummyDriver, Kysely, MysqlAdapter, MysqlIntrospector, MysqlQueryCompiler, type RawBuilder } from 'kysely'
import type { Connection, FieldPacket } from 'mysql2'
import type { PartnerOptions } from './dialect.ts'
import { pushedRows } from './pushed-rows.ts'
import { keepAliveAfterMs, readServerAddress } from './server-address.ts'
import { loadDriver, type ServerSession } from './server-session.ts'

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

/** Connects, and changes nothing about the session. */
export async function openMysqlSession({ url, connectTimeoutMs }: Required<PartnerOptions>): Promise<MysqlSession> {
  const { createConnection } = await loadDriver('MySQL or MariaDB', ['mysql2'], () => import('mysql2'))
  const address = await readServerAddress(url, { allowed: ['socket'], tlsByDefault: false })
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

/** The errors of a server that stops, ends the connection or the statement, or is out of time. */
const brokenOff = new Set([1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1317, 1927, 1969, 3024, 4031])

/** Whether an error of the driver says that server or connection are lost. */
export function isLost(error: unknown): boolean {
  const { sqlState, errno, fatal } = error as { sqlState?: string; errno?: number; fatal?: boolean }
  return fatal === true || sqlState === undefined || (errno !== undefined && brokenOff.has(errno))
}
