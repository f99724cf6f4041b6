import { type RawBuilder, sql } from 'kysely'
import { copyLines } from '../db/copy-text.ts'
import {
  allInOrder,
  type DeltaQuery,
  type DeltaRows,
  type PartnerOptions,
  type PartnerSnapshot,
  type QueryPlan,
  type StreamQuery,
  withoutSemicolon,
} from './dialect.ts'
import { type MysqlBound, oldestOpen } from './mysql-bound.ts'
import {
  columnOf,
  cursorOf,
  type MysqlColumn,
  type MysqlKind,
  selected,
  textLiteral,
  textRows,
  watermarkValue,
} from './mysql-columns.ts'
import { explainMysql } from './mysql-plan.ts'
import { type MysqlSession, openMysqlSession, readFailed } from './mysql-session.ts'
import { requireColumns, unreachable } from './partner-database-error.ts'
import { placeOf } from './server-address.ts'

/** One read-only transaction of a MySQL or MariaDB server with a consistent snapshot of its InnoDB tables. */
export async function openMysqlSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  let session: MysqlSession | undefined
  try {
    session = await openMysqlSession(options.url, options.connectTimeoutMs ?? 15_000)
    const bound = await begin(session, options.statementTimeoutMs)
    return snapshotOf(session, bound)
  } catch (error) {
    await session?.close()
    throw unreachable(placeOf(options.url), error)
  }
}

function snapshotOf(session: MysqlSession, bound: MysqlBound): PartnerSnapshot {
  return {
    // A server's own id says nothing of a restore, and changes with every node of a cluster.
    server: null,
    lacks: bound.lacks,
    cursorType: async (query) => (await describe(session, query)).get(query.cursor)?.kind ?? null,
    check: async (query) => {
      const columns = await describe(session, query)
      if (query.cursor === null) return null
      if (!isTime(columns.get(query.cursor))) return 'none'
      return bound.lacks === null ? 'transactions' : 'overlap'
    },
    explain: (query) => explain(session, bound, query),
    delta: (delta) => readDelta(session, bound, delta),
    all: (query) => allInOrder({ delta: (delta) => readDelta(session, bound, delta) }, query),
    lines: (query) => readLines(session, query),
    hasRows: async ({ stream, query }) => {
      const { rows } = await failing(stream, session.ask(sql`select 1 from ${derived(query)} limit 1`))
      return rows.length > 0
    },
    close: () => session.close(),
  }
}

/** How long the server may wait for us: between two streams, or while rows of one are being stored. Seconds: a day. */
const patience = 86_400

async function begin(session: MysqlSession, statementTimeoutMs: number): Promise<MysqlBound> {
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

async function explain(
  session: MysqlSession,
  bound: MysqlBound,
  query: StreamQuery & { cursor: string | null },
): Promise<QueryPlan> {
  const columns = await describe(session, query)
  const whole = sql`select ${selection(columns, query)} from ${derived(query.query)}`
  const { cursor } = query
  const column = columns.get(cursor ?? '')
  if (cursor === null || column === undefined) return await failing(query.stream, explainMysql(session, whole, null))
  const from = isTime(column) ? '9999-12-01' : '1999912'
  const delta = deltaSql(columns, column, bound, { ...query, cursor, from, overlapMs: 0 })
  return await failing(query.stream, explainMysql(session, whole, delta))
}

async function* readDelta(session: MysqlSession, bound: MysqlBound, delta: DeltaQuery): DeltaRows {
  const columns = await describe(session, delta)
  const cursor = columns.get(delta.cursor) ?? { kind: 'text', decimals: 0 }
  const names = [...delta.columns, delta.cursor]
  try {
    for await (const rows of session.read(deltaSql(columns, cursor, bound, delta), delta.fetchRows)) {
      yield textRows(delta.stream, names, columns, rows)
    }
  } catch (error) {
    throw readFailed(delta.stream, error)
  }
}

async function* readLines(session: MysqlSession, query: StreamQuery): AsyncGenerator<Buffer> {
  const columns = await describe(session, { ...query, cursor: null })
  const statement = sql`select ${selection(columns, query)} from ${derived(query.query)}`
  try {
    for await (const rows of session.read(statement, query.fetchRows)) {
      yield copyLines(textRows(query.stream, query.columns, columns, rows))
    }
  } catch (error) {
    throw readFailed(query.stream, error)
  }
}

/**
 * The configured query, wrapped: its columns, in cursor order, from the watermark on; rows without a cursor are always
 * read.
 */
function deltaSql(
  columns: ReadonlyMap<string, MysqlColumn>,
  cursor: MysqlColumn,
  bound: MysqlBound,
  delta: DeltaQuery,
): RawBuilder<unknown> {
  const at = cursorOf(delta.cursor, cursor)
  let printed = at
  if (isTime(cursor)) {
    // A transaction that is still open may commit rows that carry the time at which it began, and a time that lies
    // ahead may be anything: neither may carry the watermark past what was not seen. Only a timestamp knows its zone;
    // a datetime is what clocks showed at the partner, which may stand at UTC or behind it.
    const moment = textLiteral(cursor.kind === 'timestamp' ? bound.moment : bound.shown)
    const newest = cursor.kind === 'date' ? sql`cast(${moment} as date)` : sql`cast(${moment} as datetime(6))`
    printed = sql`case when ${at} > ${newest} then ${newest} else ${at} end`
  }
  let past = sql``
  if (delta.from !== null) {
    const value = watermarkValue(delta.from, cursor)
    const lower = isTime(cursor)
      ? sql`${value} - interval ${sql.lit(Math.trunc(delta.overlapMs) * 1000)} microsecond`
      : value
    // A watermark of another type says nothing of these values: then everything is read.
    past = sql` where ${at} >= ${lower} or ${at} is null or ${lower} is null`
  }
  const which = delta.only === undefined ? past : onlySql(columns, delta.only)
  return sql`select ${selection(columns, delta)}, ${printed} from ${derived(delta.query)}${which} order by ${at}`
}

/** Kinds whose values are sent otherwise than SQL casts them: of these all rows are read. */
const notCast: readonly MysqlKind[] = ['real', 'bits', 'bytes']

/** Collations may take more for equal than we do: rows of other hotels come along, and are left out afterwards. */
function onlySql(
  columns: ReadonlyMap<string, MysqlColumn>,
  { column, partnerIds }: NonNullable<DeltaQuery['only']>,
): RawBuilder<unknown> {
  if (notCast.includes(columns.get(column)?.kind ?? 'text')) return sql``
  const id = sql.id('s', column)
  const orNull = partnerIds.includes('') ? sql` or ${id} is null` : sql``
  return sql` where cast(${id} as char) in (${sql.join(partnerIds.map(textLiteral))})${orNull}`
}

function selection(columns: ReadonlyMap<string, MysqlColumn>, query: StreamQuery): RawBuilder<unknown> {
  return sql.join(query.columns.map((name) => selected(name, columns.get(name))))
}

/** Around a configured query, so that it can be nothing but a query. */
function derived(query: string): RawBuilder<unknown> {
  return sql`(${sql.raw(withoutSemicolon(query))}\n) s`
}

function isTime(column: MysqlColumn | undefined): boolean {
  return column?.kind === 'timestamp' || column?.kind === 'datetime' || column?.kind === 'date'
}

async function describe(
  session: MysqlSession,
  { stream, query, columns, cursor }: StreamQuery & { cursor: string | null },
): Promise<Map<string, MysqlColumn>> {
  const { fields } = await failing(stream, session.ask(sql`select * from ${derived(query)} limit 0`))
  requireColumns(
    stream,
    cursor === null ? columns : [...columns, cursor],
    fields.map(({ name }) => name),
  )
  return new Map(fields.map((field) => [field.name, columnOf(field)]))
}

async function failing<T>(stream: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw readFailed(stream, error)
  }
}
