import { type RawBuilder, sql } from 'kysely'
import type { FieldPacket } from 'mysql2'
import { bytesText, exactText, textBytes } from './exact-text.ts'
import type { MysqlRow } from './mysql-session.ts'

/** What matters of a column's type for reading it as text, and for comparing it as a cursor. */
export type MysqlKind =
  | 'exact'
  | 'real'
  | 'bits'
  | 'date'
  | 'datetime'
  | 'timestamp'
  | 'clock'
  | 'listed'
  | 'bytes'
  | 'text'
export type MysqlColumn = { kind: MysqlKind; decimals: number }

/** Types of the protocol, by their numbers there. */
const kinds: Record<number, MysqlKind> = {
  0: 'exact',
  1: 'exact',
  2: 'exact',
  3: 'exact',
  4: 'real',
  5: 'real',
  7: 'timestamp',
  8: 'exact',
  9: 'exact',
  10: 'date',
  11: 'clock',
  12: 'datetime',
  13: 'exact',
  14: 'date',
  16: 'bits',
  17: 'timestamp',
  18: 'datetime',
  19: 'clock',
  245: 'listed',
  246: 'exact',
  247: 'listed',
  248: 'listed',
  255: 'bytes',
}
/** Texts and bytes share their types; bytes have the character set `binary`. */
const textTypes = new Set([15, 249, 250, 251, 252, 253, 254])
const binaryCharacterSet = 63
const enumFlag = 256
const setFlag = 2048

export function columnOf({ columnType = 253, characterSet, flags, decimals }: FieldPacket): MysqlColumn {
  if (!textTypes.has(columnType)) return { kind: kinds[columnType] ?? 'text', decimals }
  const listed = typeof flags === 'number' && (flags & (enumFlag | setFlag)) !== 0
  return { kind: listed ? 'listed' : characterSet === binaryCharacterSet ? 'bytes' : 'text', decimals }
}

/** A column as the server prints it. It prints bits as the bytes that they are, so they are asked for as a number. */
export function selected(name: string, column: MysqlColumn | undefined): RawBuilder<unknown> {
  const at = sql.id('s', name)
  return column?.kind === 'bits' ? sql`${at} + 0` : at
}

/** Rows of texts, each value exactly as the server printed it; bytes in hexadecimal. */
export function textRows(
  stream: string,
  names: readonly string[],
  columns: ReadonlyMap<string, MysqlColumn>,
  rows: readonly MysqlRow[],
): (string | null)[][] {
  const read = names.map((name) => ({ name, bytes: columns.get(name)?.kind === 'bytes' }))
  return rows.map((row) =>
    row.map((value, index) => {
      if (value === null) return null
      const { name, bytes } = read[index] ?? { name: 'cursor', bytes: false }
      return bytes ? bytesText(value) : exactText(stream, name, value)
    }),
  )
}

/** A cursor column so that it sorts, prints and compares as one and the same value. */
export function cursorOf(name: string, { kind }: MysqlColumn): RawBuilder<unknown> {
  const at = sql.id('s', name)
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
export function watermarkValue(text: string, { kind, decimals }: MysqlColumn): RawBuilder<unknown> {
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
