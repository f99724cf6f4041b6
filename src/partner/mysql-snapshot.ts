import { setTimeout as delay } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { FieldPacket } from 'mysql2'
import {
  bytesText,
  exactText,
  type PartnerOptions,
  type PartnerSnapshot,
  type QueryPlan,
  textBytes,
} from './dialect.ts'
import { type MysqlSession, type MysqlValue, mysqlErrors, openMysqlSession } from './mysql-session.ts'
import { boundOf, inSession, inUtc, type OldestTransaction, type ServerBound } from './server-session.ts'
import { type PlanQuestion, type ServerDialect, ServerSnapshot } from './server-snapshot.ts'

/** One read-only transaction of a MySQL or MariaDB server with a consistent snapshot of its InnoDB tables. */
export async function openMysqlSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  return await inSession(options, openMysqlSession, async (session) => {
    const bound = await begin(session, options.statementTimeoutMs)
    // A server's own id says nothing of a restore, and changes with every node of a cluster.
    return new ServerSnapshot(mysqlDialect, session, { server: null, bound })
  })
}

/** How long the server may wait for us: between two streams, or while rows of one are being stored. Seconds: a day. */
const patience = 86_400

async function begin(session: MysqlSession, statementTimeoutMs: number): Promise<ServerBound> {
  const { rows } = await session.ask(sql`select @@session.time_zone, version()`)
  const [zone = null, version = null] = rows[0] ?? []
  // With the collation that literals of this character set have by themselves, ours and those of a configured query.
  await session.ask(sql`set names utf8mb4`)
  await session.ask(
    sql`set session time_zone = '+00:00', session net_write_timeout = ${sql.lit(patience)},
      session wait_timeout = ${sql.lit(patience)}`,
  )
  const bound = await oldestOpen(session, zone ?? 'SYSTEM')
  // Set afterwards: nothing of ours is as slow as a configured query may be.
  if (version?.includes('MariaDB')) {
    await session.ask(
      sql`set session max_statement_time = ${sql.lit(statementTimeoutMs / 1000)}, session idle_transaction_timeout = 0,
        session idle_readonly_transaction_timeout = 0`,
    )
  } else {
    await session.ask(sql`set session max_execution_time = ${sql.lit(statementTimeoutMs)}`)
  }
  await session.ask(sql`set session transaction isolation level repeatable read, read only`)
  await session.ask(sql`start transaction with consistent snapshot, read only`)
  return bound
}

/**
 * The start of the oldest transaction that may still write, or of the oldest statement at work, or a tenth of a second
 * ago; asked before the snapshot is taken, in a session that stands at UTC. A row that the snapshot does not show
 * was written by one of these or by a later one. Without the privilege PROCESS the server shows only ourselves,
 * and a replica does not show what is open at its primary.
 *
 * The order matters: a statement that ended before the first list was made has its transaction in the second.
 *
 * @param zone where the session's clock stood before it was set to UTC.
 */
async function oldestOpen(session: MysqlSession, zone: string): Promise<ServerBound> {
  const at = performance.now()
  const statements = await session.ask(
    sql`select cast(utc_timestamp(6) - interval 100000 microsecond as char),
               cast(min(utc_timestamp(6) - interval (greatest(time, 0) + 1) second) as char)
        from information_schema.processlist where command in ('Query', 'Execute') and id <> connection_id()`,
  )
  const [began = null, statement = null] = statements.rows[0] ?? []
  if (began === null) throw new Error('the server did not say what time it is')
  const shownAt = async (moment: string) => {
    const { rows } = await session.ask(
      sql`select cast(convert_tz(cast(${textLiteral(moment)} as datetime(6)), '+00:00', ${textLiteral(zone)}) as char)`,
    )
    const there = rows[0]?.[0]
    if (typeof there !== 'string') throw new Error(`the server does not know its own time zone ${zone}`)
    return there
  }
  const { oldest, seesAll } = await oldestTransaction(session)
  // Texts of one form: the first in their order is the oldest.
  const [open = null] = [statement, oldest].filter((at) => at !== null).sort()
  return await boundOf({ began, at, oldest: open, seesAll }, shownAt, () => isReplica(session))
}

/**
 * Whether rows arrive by replication: threads of the user `system user` apply them, or nobody else may write. Either
 * may be wrong of a server that has several sources or is frozen; the overlap protects then, which harms nothing.
 */
async function isReplica(session: MysqlSession): Promise<boolean> {
  const { rows } = await session.ask(
    sql`select cast(@@global.read_only as char),
               cast((select count(*) from information_schema.processlist
                     where user = 'system user' and command <> 'Daemon') as char)`,
  )
  const [readOnly = '0', appliers = '0'] = rows[0] ?? []
  return !['0', 'OFF'].includes(readOnly ?? '0') || appliers !== '0'
}

/** The list of transactions is renewed at most every tenth of a second, and not while others ask for it more often. */
const listTries = 50
const listPauseMs = 110

/** Refused without the privilege PROCESS. */
const accessDenied = 1227

/**
 * The list says starts in the server's own time zone, to the second. A transaction of ours in it shows how far that is
 * from UTC, and that the list is not older than it.
 */
async function oldestTransaction(session: MysqlSession): Promise<OldestTransaction> {
  await session.ask(sql`start transaction with consistent snapshot, read only`)
  try {
    for (let tries = 0; tries < listTries; tries++) {
      const { rows } = await session.ask(
        sql`select cast(timestampdiff(second, utc_timestamp(), max(case when mine then trx_started end)) as char),
                   cast(min(case when trx_is_read_only = 0 then trx_started end) as char)
            from (select trx_started, trx_is_read_only, trx_mysql_thread_id = connection_id() as mine
                  from information_schema.innodb_trx) t`,
      )
      const [ahead = null, oldest = null] = rows[0] ?? []
      if (ahead !== null) return { oldest: oldest === null ? null : inUtc(oldest, Number(ahead)), seesAll: true }
      await delay(listPauseMs)
    }
  } catch (error) {
    if ((error as { errno?: number }).errno !== accessDenied) throw error
  } finally {
    await session.ask(sql`rollback`)
  }
  return { oldest: null, seesAll: false }
}

/** Types of the protocol, by their numbers there, by what matters of them for reading and for comparing a cursor. */
const typesOf = {
  exact: [0, 1, 2, 3, 8, 9, 13, 246],
  real: [4, 5],
  bits: [16],
  date: [10, 14],
  datetime: [12, 18],
  timestamp: [7, 17],
  clock: [11, 19],
  listed: [245, 247, 248],
  bytes: [255],
  // Bytes too, with the character set `binary`.
  text: [15, 249, 250, 251, 252, 253, 254],
}
type MysqlKind = keyof typeof typesOf
type MysqlColumn = { kind: MysqlKind; decimals: number }

const kinds = new Map(
  (Object.keys(typesOf) as MysqlKind[]).flatMap((kind) => typesOf[kind].map((type) => [type, kind] as const)),
)
const binaryCharacterSet = 63
const enumFlag = 256
const setFlag = 2048

function columnOf({ columnType = 253, characterSet, flags, decimals }: FieldPacket): MysqlColumn {
  const kind = kinds.get(columnType)
  if (kind !== 'text') return { kind: kind ?? 'text', decimals }
  const listed = typeof flags === 'number' && (flags & (enumFlag | setFlag)) !== 0
  return { kind: listed ? 'listed' : characterSet === binaryCharacterSet ? 'bytes' : 'text', decimals }
}

/** Kinds whose values are sent otherwise than SQL casts them. */
const notCast: readonly MysqlKind[] = ['real', 'bits', 'bytes']

/** How MySQL and MariaDB are asked for the rows of a query. */
const mysqlDialect: ServerDialect<FieldPacket, MysqlColumn, MysqlValue> = {
  columnOf: (_stream, field) => columnOf(field),
  undescribed: { kind: 'text', decimals: 0 },
  isTime: ({ kind }) => kind === 'timestamp' || kind === 'datetime' || kind === 'date',

  alone: (_stream, query) => query,
  noRow: (from) => sql`select * from ${from} limit 0`,
  anyRow: (from) => sql`select 1 from ${from} limit 1`,
  literal: textLiteral,

  // The server prints bits as the bytes that they are, so they are asked for as a number.
  printed: (at, { kind }) => (kind === 'bits' ? sql`${at} + 0` : at),
  textOf: (stream, name, { kind }, value) =>
    value === null ? null : kind === 'bytes' ? bytesText(value) : exactText(stream, name, value),
  asText: (at, { kind }) => (notCast.includes(kind) ? null : sql`cast(${at} as char)`),

  cursorOf,
  printedCursor: (cursor) => cursor,
  watermarkValue,
  mayLoseWatermark: true,
  earlier: (time, ms, { kind }) => {
    const at = sql`${time} - interval ${sql.lit(ms * 1000)} microsecond`
    return kind === 'date' ? sql`cast(${at} as date)` : at
  },
  newest: ({ moment, shown }, { kind }) => {
    const newest = textLiteral(kind === 'timestamp' ? moment : shown)
    return kind === 'date' ? sql`cast(${newest} as date)` : sql`cast(${newest} as datetime(6))`
  },

  explain,
  errors: mysqlErrors,
}

/** A cursor column so that it sorts, prints and compares as one and the same value. */
function cursorOf(at: RawBuilder<unknown>, { kind }: MysqlColumn): RawBuilder<unknown> {
  switch (kind) {
    // A number of a list sorts by its place and compares by its name; JSON has an order of its own.
    case 'listed':
      return sql`cast(${at} as char)`
    case 'bits':
      return sql`(${at} + 0)`
    case 'real':
      // A float is printed with fewer digits than it has, a double with all.
      return sql`(${at} + 0e0)`
    default:
      return at
  }
}

/** A watermark as a value of its cursor's type: as text, a number would be compared with the precision of a double. */
function watermarkValue(text: string, { kind, decimals }: MysqlColumn): RawBuilder<unknown> {
  const literal = textLiteral(text)
  switch (kind) {
    case 'exact':
      return sql`cast(${literal} as decimal(65, ${sql.lit(decimals)}))`
    case 'real':
      return sql`(${literal} + 0e0)`
    case 'bits':
      return sql`cast(${literal} as unsigned)`
    case 'date':
    case 'datetime':
    case 'timestamp':
      return sql`cast(${literal} as datetime(6))`
    case 'clock':
      return sql`cast(${literal} as time(6))`
    case 'bytes':
      return hexadecimal(textBytes(text))
    case 'listed':
    case 'text':
      return literal
  }
}

/**
 * A text as hexadecimal digits: they need no escapes, whose meaning depends on the server's sql_mode. It is no
 * parameter, because the driver puts parameters in place of question marks, and would find those of a configured query.
 */
function textLiteral(text: string): RawBuilder<unknown> {
  return sql`_utf8mb4 ${hexadecimal(Buffer.from(text))}`
}

function hexadecimal(bytes: Buffer): RawBuilder<unknown> {
  return sql.raw(`X'${bytes.toString('hex')}'`)
}

/**
 * What the server would do with a query. A small table is read whole although it has an index, so those indexes are
 * looked at that it could use: what the condition on the cursor adds to them serves the cursor.
 */
async function explain(session: MysqlSession, { whole, past }: PlanQuestion): Promise<QueryPlan> {
  const steps = await stepsOf(session, whole)
  const cost = await session.ask(sql`show session status like 'Last_query_cost'`)
  const price = Number(cost.rows[0]?.[1] ?? 0)
  const rows = steps.length === 0 ? null : steps.reduce((product, step) => product * step.rows, 1)
  const about = { rows, cost: price > 0 ? price : null }
  if (past === null) return { ...about, indexed: null }
  const before = new Set(steps.flatMap(({ usable }) => usable))
  const stepsPast = await stepsOf(session, past)
  return { ...about, indexed: stepsPast.some(({ usable }) => usable.some((index) => !before.has(index))) }
}

type Step = { rows: number; usable: string[] }

async function stepsOf(session: MysqlSession, statement: RawBuilder<unknown>): Promise<Step[]> {
  const { fields, rows } = await session.ask(sql`explain ${statement}`)
  const at = (row: readonly (string | null)[], name: string) =>
    row[fields.findIndex((field) => field.name.toLowerCase() === name)] ?? null
  return rows.map((row) => ({
    rows: Number(at(row, 'rows') ?? 1),
    usable: (at(row, 'possible_keys') ?? '')
      .split(',')
      .filter((index) => index !== '')
      .map((index) => `${at(row, 'table')}.${index}`),
  }))
}
