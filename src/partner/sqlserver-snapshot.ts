import { type RawBuilder, sql } from 'kysely'
import {
  bytesText,
  exactText,
  type PartnerOptions,
  type PartnerSnapshot,
  type QueryPlan,
  textBytes,
} from './dialect.ts'
import { PartnerDatabaseError } from './partner-errors.ts'
import {
  boundOf,
  inSession,
  inUtc,
  moved,
  type OldestTransaction,
  type ServerBound,
  type ServerSession,
} from './server-session.ts'
import { type PlanQuestion, type ServerDialect, ServerSnapshot } from './server-snapshot.ts'
import {
  openSqlserverSession,
  type SqlserverField,
  type SqlserverSession,
  type SqlserverValue,
  sqlserverErrors,
} from './sqlserver-session.ts'

/**
 * One transaction of a SQL Server at the isolation level SNAPSHOT, which sees the moment of its first read. The server
 * knows no read-only transactions: a configured query can write nothing because it is put into another one, and cannot
 * end it (oneQuery).
 *
 * @throws {PartnerDatabaseError} `partner_snapshot_off` when the database does not allow it.
 */
export async function openSqlserverSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  return await inSession(options, openSqlserverSession, async (session) => {
    await requireSnapshots(session)
    const server = await serverOf(session)
    const bound = await oldestOpen(session)
    await session.beginSnapshot()
    return new ServerSnapshot(sqlserverDialect, session, { server, bound })
  })
}

/** Without it, streams would be read at different moments, and while others change them. */
async function requireSnapshots(session: SqlserverSession): Promise<void> {
  const { rows } = await session.ask(
    sql`select convert(varchar(10), snapshot_isolation_state), name from sys.databases where database_id = db_id()`,
  )
  const [state, name] = rows[0] ?? []
  if (state === '1') return
  throw new PartnerDatabaseError(
    'partner_snapshot_off',
    `The partner's database ${name ?? ''} does not allow the isolation level SNAPSHOT, without which streams would be read at different moments. Let its administrator run: alter database [${(name ?? '').replaceAll(']', ']]')}] set allow_snapshot_isolation on`,
  )
}

/** Refused without VIEW SERVER STATE, or VIEW SERVER PERFORMANCE STATE since 2022. */
const accessDenied = new Set([297, 300, 371])

/**
 * The start of the oldest transaction that may still write, or a tenth of a second ago; asked before the snapshot
 * begins. The server says starts by its own clock.
 */
async function oldestOpen(session: SqlserverSession): Promise<ServerBound> {
  const at = performance.now()
  const { rows } = await session.ask(
    sql`select convert(varchar(23), dateadd(millisecond, -100, sysutcdatetime()), 121),
               convert(varchar(20), datediff(second, getutcdate(), getdate()))`,
  )
  const [began = null, ahead = null] = rows[0] ?? []
  if (began === null || ahead === null) throw new Error('the server did not say what time it is')
  const { oldest, seesAll } = await oldestTransaction(session)
  return await boundOf(
    { began, at, oldest: oldest === null ? null : inUtc(oldest, Number(ahead)), seesAll },
    // Where a clock stood that was as far from UTC then as the server's is now.
    (moment) => moved(moment, Number(ahead) * 1000),
    () => isSecondary(session),
  )
}

/** A readable secondary lists its own transactions, and not those of the primary, which are the ones that write. */
async function isSecondary(session: SqlserverSession): Promise<boolean> {
  const { rows } = await session.ask(sql`select convert(varchar(20), databasepropertyex(db_name(), 'Updateability'))`)
  return rows[0]?.[0] === 'READ_ONLY'
}

/** The fork of recovery that the database is on, which a restore begins again; null where our role may not see it. */
async function serverOf(session: SqlserverSession): Promise<string | null> {
  try {
    const { rows } = await session.ask(
      sql`select lower(convert(varchar(36), recovery_fork_guid)) from sys.database_recovery_status
        where database_id = db_id()`,
    )
    return rows[0]?.[0] ?? null
  } catch (error) {
    const { number } = error as { number?: number }
    if (number === undefined || !(accessDenied.has(number) || number === invalidObject)) throw error
    return null
  }
}

/** Some editions leave the view out. */
const invalidObject = 208

async function oldestTransaction(session: SqlserverSession): Promise<OldestTransaction> {
  try {
    // Transactions that read and write, also distributed ones, in any state but committed and rolled back.
    const { rows } = await session.ask(
      sql`select convert(varchar(23), min(transaction_begin_time), 121) from sys.dm_tran_active_transactions
          where transaction_type in (1, 4) and transaction_state not in (6, 8)`,
    )
    return { oldest: rows[0]?.[0] ?? null, seesAll: true }
  } catch (error) {
    const { number } = error as { number?: number }
    if (number === undefined || !accessDenied.has(number)) throw error
    return { oldest: null, seesAll: false }
  }
}

/** Types of the protocol as the driver names them, by how they are read as text and compared as a cursor. */
const typesOf = {
  integer: ['TinyInt', 'SmallInt', 'Int', 'BigInt', 'IntN', 'Bit', 'BitN'],
  decimal: ['Decimal', 'DecimalN', 'Numeric', 'NumericN'],
  money: ['Money', 'SmallMoney', 'MoneyN'],
  double: ['Float'],
  single: ['Real'],
  date: ['Date'],
  datetime: ['DateTime', 'SmallDateTime', 'DateTimeN'],
  datetime2: ['DateTime2'],
  datetimeoffset: ['DateTimeOffset'],
  clock: ['Time'],
  id: ['UniqueIdentifier'],
  bytes: ['Binary', 'VarBinary', 'Image'],
  text: ['Null', 'Char', 'VarChar', 'Text', 'NChar', 'NVarChar', 'NText', 'Xml', 'UDT'],
}
type SqlserverKind = keyof typeof typesOf
type SqlserverColumn = { kind: SqlserverKind; precision: number; scale: number }

const kinds = new Map(
  (Object.keys(typesOf) as SqlserverKind[]).flatMap((kind) => typesOf[kind].map((type) => [type, kind] as const)),
)

/** @throws {PartnerDatabaseError} for a type whose values have no text of their own. */
function columnOf(
  stream: string,
  { name, type, dataLength, precision = 0, scale = 0 }: SqlserverField,
): SqlserverColumn {
  // Both sizes of floating point numbers share a type; their length tells them apart.
  const float = dataLength === 4 ? 'single' : 'double'
  const kind = type.name === 'FloatN' ? float : kinds.get(type.name)
  if (kind !== undefined) return { kind, precision, scale }
  throw new PartnerDatabaseError(
    'partner_query_failed',
    `The query of the stream ${stream} yields ${name} as ${type.name}, whose values have no one text. Fix streams.${stream}.query with a cast.`,
  )
}

/** Kinds that are printed here and not by the server. */
const notPrinted: readonly SqlserverKind[] = ['double', 'single', 'bytes']

/** Texts and names, in which parentheses mean nothing, and comments; any other character by itself. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\[(?:[^\]]|\]\])*\]|--[^\n]*|\/\*|[\s\S]/gy

/** How SQL Server is asked for the rows of a query. */
export const sqlserverDialect: ServerDialect<SqlserverField, SqlserverColumn, SqlserverValue> = {
  columnOf,
  undescribed: { kind: 'text', precision: 0, scale: 0 },
  isTime: ({ kind }) => ['date', 'datetime', 'datetime2', 'datetimeoffset'].includes(kind),

  alone: oneQuery,
  noRow: (from) => sql`select top (0) * from ${from}`,
  anyRow: (from) => sql`select top (1) 1 as there from ${from}`,
  literal: (text) => sql`${text}`,

  printed,
  textOf,
  asText: (at, column) => (notPrinted.includes(column.kind) ? null : printed(at, column)),

  // Some collations sort texts by other rules if they are not national ones; the watermark is a national one.
  cursorOf: (at, { kind }) => (kind === 'text' ? sql`convert(nvarchar(4000), ${at})` : at),
  printedCursor: printed,
  watermarkValue,
  mayLoseWatermark: false,
  earlier: (time, ms, { kind }) => {
    // In two steps: the number of milliseconds of a month is too large for one.
    const whole = sql`dateadd(second, ${sql.lit(-Math.trunc(ms / 1000))}, ${time})`
    const at = sql`dateadd(millisecond, ${sql.lit(-(ms % 1000))}, ${whole})`
    return kind === 'date' ? sql`convert(date, ${at})` : at
  },
  newest,

  explain,
  errors: sqlserverErrors,
}

/** An expression of that kind as a text without loss, or as what the driver reads without loss. */
function printed(at: RawBuilder<unknown>, { kind }: SqlserverColumn): RawBuilder<unknown> {
  switch (kind) {
    case 'integer':
    case 'decimal':
      return sql`convert(varchar(60), ${at})`
    case 'money':
      return sql`convert(varchar(60), ${at}, 2)`
    case 'date':
    case 'datetime':
    case 'datetime2':
    case 'clock':
      return sql`convert(varchar(40), ${at}, 121)`
    case 'datetimeoffset':
      return sql`convert(varchar(40), switchoffset(${at}, '+00:00'), 121)`
    case 'id':
      return sql`lower(convert(varchar(36), ${at}))`
    case 'text':
      return sql`convert(nvarchar(max), ${at})`
    case 'double':
    case 'single':
    case 'bytes':
      return at
  }
}

/**
 * What the server printed, floating point numbers with the digits that tell them apart, bytes in hexadecimal.
 * @throws {PartnerDatabaseError} for a value that is no text.
 */
function textOf(stream: string, name: string, { kind }: SqlserverColumn, { value }: SqlserverValue): string | null {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value)) return bytesText(value)
  if (typeof value === 'number') return kind === 'single' ? singleText(value) : String(value)
  if (typeof value === 'string') return exactText(stream, name, value)
  throw new PartnerDatabaseError(
    'partner_query_failed',
    `The stream ${stream} yields a value in ${name} that is no text. Fix streams.${stream}.query with a cast.`,
  )
}

/** The fewest digits that name a number of four bytes, which the driver has widened to eight. */
function singleText(value: number): string {
  for (let digits = 6; digits <= 8; digits++) {
    const text = Number(value.toPrecision(digits))
    if (Math.fround(text) === value) return String(text)
  }
  return String(Number(value.toPrecision(9)))
}

/** A watermark as a value of its cursor's type. */
function watermarkValue(text: string, { kind, precision, scale }: SqlserverColumn): RawBuilder<unknown> {
  switch (kind) {
    case 'integer':
      return sql`convert(bigint, ${text})`
    case 'decimal':
      return sql`convert(decimal(${sql.lit(precision)}, ${sql.lit(scale)}), ${text})`
    case 'money':
      return sql`convert(money, ${text})`
    case 'double':
      return sql`convert(float, ${text})`
    case 'single':
      return sql`convert(real, ${text})`
    case 'date':
    case 'datetime2':
      return sql`convert(datetime2(7), ${text}, 121)`
    // To a value of higher precision it would convert with another fraction, and be later than itself.
    case 'datetime':
      return sql`convert(datetime, ${text}, 121)`
    case 'datetimeoffset':
      return sql`convert(datetimeoffset(7), ${text}, 121)`
    case 'clock':
      return sql`convert(time(7), ${text}, 121)`
    case 'id':
      return sql`convert(uniqueidentifier, ${text})`
    case 'bytes':
      return sql`${textBytes(text)}`
    case 'text':
      return sql`convert(nvarchar(4000), ${text})`
  }
}

/** Only a datetimeoffset knows its zone; other times are what clocks showed, which may stand at UTC or behind it. */
function newest({ moment, shown }: ServerBound, { kind }: SqlserverColumn): RawBuilder<unknown> {
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

/**
 * Whether an index begins with the column that a query yields as its cursor. The server shows plans to roles with a
 * right of their own only (SHOWPLAN), which reading does not need: so neither rows nor costs are asked for.
 */
async function explain(
  session: ServerSession<SqlserverField, SqlserverValue>,
  { query, cursor }: PlanQuestion,
): Promise<QueryPlan> {
  if (cursor === null) return { rows: null, cost: null, indexed: null }
  const { rows } = await session.ask(sql`
    select r.source_column, convert(varchar(10), (
      select count(*) from sys.index_columns i
      join sys.columns c on c.object_id = i.object_id and c.column_id = i.column_id
      where i.object_id = object_id(quotename(r.source_schema) + '.' + quotename(r.source_table))
        and i.key_ordinal = 1 and c.name = r.source_column))
    from sys.dm_exec_describe_first_result_set(${query}, null, 1) r where r.name = ${cursor}`)
  const [source, indexes] = rows[0] ?? []
  // An expression has no column that an index could begin with.
  return { rows: null, cost: null, indexed: typeof source === 'string' ? Number(indexes) > 0 : null }
}

/**
 * A configured query without its comments, which cannot end the parentheses it is put into: what stood behind them
 * would be a statement of its own. The server knows no read-only transactions, and runs as many statements as a text
 * holds, also without semicolons between them.
 * @throws {PartnerDatabaseError} `partner_query_failed` when it would.
 */
export function oneQuery(stream: string, query: string): string {
  const kept = []
  let depth = 0
  token.lastIndex = 0
  for (let found = token.exec(query); found !== null; found = token.exec(query)) {
    const [text] = found
    if (text === '/*') token.lastIndex = afterComment(query, token.lastIndex)
    if (text === '(') depth += 1
    if (text === ')') depth -= 1
    if (depth < 0 || ["'", '"', '[', ';'].includes(text)) break
    kept.push(text.startsWith('--') || text === '/*' ? ' ' : text)
    if (token.lastIndex >= query.length && depth === 0) return kept.join('')
  }
  throw new PartnerDatabaseError(
    'partner_query_failed',
    `The query of the stream ${stream} is not one query: it holds a second statement, or a parenthesis or quote without its other half. Fix streams.${stream}.query.`,
  )
}

/** Comments of this server nest. */
function afterComment(query: string, from: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = from
  let depth = 1
  for (let found = mark.exec(query); found !== null; found = mark.exec(query)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
  return query.length
}
