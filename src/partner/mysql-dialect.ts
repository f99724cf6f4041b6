import { type RawBuilder, sql } from 'kysely'
import type { FieldPacket } from 'mysql2'
import type { QueryPlan } from './dialect.ts'
import { bytesText, exactText, textBytes } from './exact-text.ts'
import { isLost, type MysqlSession, type MysqlValue } from './mysql-session.ts'
import type { PlanQuestion, ServerDialect } from './server-snapshot.ts'

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
export const mysqlDialect: ServerDialect<FieldPacket, MysqlColumn, MysqlValue> = {
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
  earlier: (time, ms) => sql`${time} - interval ${sql.lit(ms * 1000)} microsecond`,
  newest: ({ moment, shown }, { kind }) => {
    const newest = textLiteral(kind === 'timestamp' ? moment : shown)
    return kind === 'date' ? sql`cast(${newest} as date)` : sql`cast(${newest} as datetime(6))`
  },

  explain,
  isLost,
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
export function textLiteral(text: string): RawBuilder<unknown> {
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
