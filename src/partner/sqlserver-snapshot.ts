import { type RawBuilder, sql } from 'kysely'
import { copyLines } from '../db/copy-text.ts'
import {
  allInOrder,
  type DeltaQuery,
  type DeltaRows,
  type PartnerOptions,
  type PartnerSnapshot,
  type StreamQuery,
  withoutSemicolon,
} from './dialect.ts'
import { PartnerDatabaseError, requireColumns, unreachable } from './partner-database-error.ts'
import { placeOf } from './server-address.ts'
import { oldestOpen, type SqlserverBound, serverOf } from './sqlserver-bound.ts'
import {
  columnOf,
  cursorOf,
  printed,
  type SqlserverColumn,
  type SqlserverKind,
  textRows,
  watermarkValue,
} from './sqlserver-columns.ts'
import { explainSqlserver } from './sqlserver-plan.ts'
import { oneQuery } from './sqlserver-query.ts'
import { openSqlserverSession, readFailed, type SqlserverSession } from './sqlserver-session.ts'

/**
 * One transaction of a SQL Server at the isolation level SNAPSHOT, which sees the moment of its first read. The server
 * knows no read-only transactions: a configured query can write nothing because it is put into another one, and cannot
 * end it (oneQuery).
 *
 * @throws {PartnerDatabaseError} `partner_snapshot_off` when the database does not allow it.
 */
export async function openSqlserverSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  let session: SqlserverSession | undefined
  try {
    session = await openSqlserverSession(options.url, {
      connectTimeoutMs: options.connectTimeoutMs ?? 15_000,
      statementTimeoutMs: options.statementTimeoutMs,
    })
    await requireSnapshots(session)
    const server = await serverOf(session)
    const bound = await oldestOpen(session)
    await session.beginSnapshot()
    return snapshotOf(session, bound, server)
  } catch (error) {
    await session?.close()
    throw unreachable(placeOf(options.url), error)
  }
}

/** Without it, streams would be read at different moments, and while others change them. */
async function requireSnapshots(session: SqlserverSession): Promise<void> {
  const { rows } = await session.ask(
    sql`select convert(varchar(10), snapshot_isolation_state), name from sys.databases where database_id = db_id()`,
  )
  const [state, name] = (rows[0] ?? []).map(({ value }) => String(value))
  if (state === '1') return
  throw new PartnerDatabaseError(
    'partner_snapshot_off',
    `The partner's database ${name ?? ''} does not allow the isolation level SNAPSHOT, without which streams would be read at different moments. Let its administrator run: alter database [${(name ?? '').replaceAll(']', ']]')}] set allow_snapshot_isolation on`,
  )
}

function snapshotOf(session: SqlserverSession, bound: SqlserverBound, server: string | null): PartnerSnapshot {
  return {
    server,
    lacks: bound.lacks,
    cursorType: async (query) => (await describe(session, query)).get(query.cursor)?.kind ?? null,
    check: async (query) => {
      const columns = await describe(session, query)
      if (query.cursor === null) return null
      if (!isTime(columns.get(query.cursor))) return 'none'
      return bound.lacks === null ? 'transactions' : 'overlap'
    },
    explain: async ({ stream, query, columns, fetchRows, cursor }) => {
      await describe(session, { stream, query, columns, fetchRows, cursor })
      const alone = oneQuery(stream, withoutSemicolon(query))
      return await failing(stream, explainSqlserver(session, alone, cursor))
    },
    delta: (delta) => readDelta(session, bound, delta),
    all: (query) => allInOrder({ delta: (delta) => readDelta(session, bound, delta) }, query),
    lines: (query) => readLines(session, query),
    hasRows: async ({ stream, query }) => {
      const { rows } = await failing(stream, session.ask(sql`select top (1) 1 as there from ${derived(stream, query)}`))
      return rows.length > 0
    },
    close: () => session.close(),
  }
}

async function* readDelta(session: SqlserverSession, bound: SqlserverBound, delta: DeltaQuery): DeltaRows {
  const columns = await describe(session, delta)
  const names = [...delta.columns, delta.cursor]
  try {
    for await (const rows of session.read(deltaSql(columns, bound, delta), delta.fetchRows)) {
      yield textRows(delta.stream, names, columns, rows)
    }
  } catch (error) {
    throw readFailed(delta.stream, error)
  }
}

async function* readLines(session: SqlserverSession, query: StreamQuery): AsyncGenerator<Buffer> {
  const columns = await describe(session, { ...query, cursor: null })
  const statement = sql`select ${selection(columns, query)} from ${derived(query.stream, query.query)}`
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
  columns: ReadonlyMap<string, SqlserverColumn>,
  bound: SqlserverBound,
  delta: DeltaQuery,
): RawBuilder<unknown> {
  const column = columns.get(delta.cursor) ?? unknownColumn
  const at = cursorOf(delta.cursor, column.kind)
  let shown = at
  if (isTime(column)) {
    // A transaction that is still open may commit rows that carry the time at which it began, and a time that lies
    // ahead may be anything: neither may carry the watermark past what was not seen.
    const newest = boundValue(bound, column)
    shown = sql`case when ${at} > ${newest} then ${newest} else ${at} end`
  }
  let past = sql``
  if (delta.from !== null) {
    const value = watermarkValue(delta.from, column)
    past = sql` where ${at} >= ${isTime(column) ? earlier(value, delta.overlapMs) : value} or ${at} is null`
  }
  const which = delta.only === undefined ? past : onlySql(columns, delta.only)
  return sql`select ${selection(columns, delta)}, ${printed(shown, column.kind)}
    from ${derived(delta.stream, delta.query)}${which} order by ${at}`
}

/** Kinds that are printed here and not by the server: of these all rows are read. */
const notPrinted: readonly SqlserverKind[] = ['double', 'single', 'bytes']

/** Collations may take more for equal than we do: rows of other hotels come along, and are left out afterwards. */
function onlySql(
  columns: ReadonlyMap<string, SqlserverColumn>,
  { column, partnerIds }: NonNullable<DeltaQuery['only']>,
): RawBuilder<unknown> {
  const { kind } = columns.get(column) ?? unknownColumn
  if (notPrinted.includes(kind)) return sql``
  const id = sql.id('s', column)
  const orNull = partnerIds.includes('') ? sql` or ${id} is null` : sql``
  return sql` where ${printed(id, kind)} in (${sql.join(partnerIds)})${orNull}`
}

const unknownColumn: SqlserverColumn = { kind: 'text', precision: 0, scale: 0 }

/** Only a datetimeoffset knows its zone; other times are what clocks showed, which may stand at UTC or behind it. */
function boundValue({ moment, shown }: SqlserverBound, { kind }: SqlserverColumn): RawBuilder<unknown> {
  switch (kind) {
    case 'datetimeoffset':
      return sql`todatetimeoffset(convert(datetime2(7), ${moment}, 121), '+00:00')`
    case 'date':
      return sql`convert(date, convert(datetime2(7), ${shown}, 121))`
    case 'datetime':
      return sql`convert(datetime, ${shown}, 121)`
    default:
      return sql`convert(datetime2(7), ${shown}, 121)`
  }
}

/** In two steps: the number of milliseconds of a month is too large for one. */
function earlier(value: RawBuilder<unknown>, overlapMs: number): RawBuilder<unknown> {
  const ms = Math.trunc(overlapMs)
  return sql`dateadd(millisecond, ${sql.lit(-(ms % 1000))}, dateadd(second, ${sql.lit(-Math.trunc(ms / 1000))},
    ${value}))`
}

function selection(columns: ReadonlyMap<string, SqlserverColumn>, query: StreamQuery): RawBuilder<unknown> {
  return sql.join(query.columns.map((name) => printed(sql.id('s', name), (columns.get(name) ?? unknownColumn).kind)))
}

/** Around a configured query, so that it can be nothing but a query. */
function derived(stream: string, query: string): RawBuilder<unknown> {
  return sql`(${sql.raw(oneQuery(stream, withoutSemicolon(query)))}\n) s`
}

function isTime(column: SqlserverColumn | undefined): boolean {
  return ['date', 'datetime', 'datetime2', 'datetimeoffset'].includes(column?.kind ?? '')
}

async function describe(
  session: SqlserverSession,
  { stream, query, columns, cursor }: StreamQuery & { cursor: string | null },
): Promise<Map<string, SqlserverColumn>> {
  const answer = await failing(stream, session.ask(sql`select top (0) * from ${derived(stream, query)}`))
  const wanted = cursor === null ? columns : [...columns, cursor]
  requireColumns(
    stream,
    wanted,
    answer.columns.map(({ colName }) => colName),
  )
  const used = answer.columns.filter(({ colName }) => wanted.includes(colName))
  return new Map(used.map((column) => [column.colName, columnOf(stream, column)]))
}

async function failing<T>(stream: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw readFailed(stream, error)
  }
}
