import { type RawBuilder, sql } from 'kysely'
import { bytesText, exactText, textBytes } from './exact-text.ts'
import { PartnerDatabaseError } from './partner-database-error.ts'
import type { SqlserverMetadata, SqlserverValue } from './sqlserver-session.ts'

/** How a column is read as text, and compared as a cursor. */
export type SqlserverKind =
  | 'integer'
  | 'decimal'
  | 'money'
  | 'double'
  | 'single'
  | 'date'
  | 'datetime'
  | 'datetime2'
  | 'datetimeoffset'
  | 'clock'
  | 'id'
  | 'bytes'
  | 'text'

export type SqlserverColumn = { kind: SqlserverKind; precision: number; scale: number }

/** Types of the protocol as the driver names them. */
const kinds: Record<string, SqlserverKind> = {
  Null: 'text',
  TinyInt: 'integer',
  SmallInt: 'integer',
  Int: 'integer',
  BigInt: 'integer',
  IntN: 'integer',
  Bit: 'integer',
  BitN: 'integer',
  Decimal: 'decimal',
  DecimalN: 'decimal',
  Numeric: 'decimal',
  NumericN: 'decimal',
  Money: 'money',
  SmallMoney: 'money',
  MoneyN: 'money',
  Float: 'double',
  Real: 'single',
  Date: 'date',
  DateTime: 'datetime',
  SmallDateTime: 'datetime',
  DateTimeN: 'datetime',
  DateTime2: 'datetime2',
  DateTimeOffset: 'datetimeoffset',
  Time: 'clock',
  UniqueIdentifier: 'id',
  Binary: 'bytes',
  VarBinary: 'bytes',
  Image: 'bytes',
  Char: 'text',
  VarChar: 'text',
  Text: 'text',
  NChar: 'text',
  NVarChar: 'text',
  NText: 'text',
  Xml: 'text',
  UDT: 'text',
}

/** @throws {PartnerDatabaseError} for a type whose values have no text of their own. */
export function columnOf(
  stream: string,
  { colName, type, dataLength, precision = 0, scale = 0 }: SqlserverMetadata,
): SqlserverColumn {
  // Both sizes of floating point numbers share a type; their length tells them apart.
  const float = dataLength === 4 ? 'single' : 'double'
  const kind = type.name === 'FloatN' ? float : kinds[type.name]
  if (kind !== undefined) return { kind, precision, scale }
  throw new PartnerDatabaseError(
    'partner_query_failed',
    `The query of the stream ${stream} yields ${colName} as ${type.name}, whose values have no one text. Fix streams.${stream}.query with a cast.`,
  )
}

/** An expression of that kind as a text without loss, or as what the driver reads without loss. */
export function printed(at: RawBuilder<unknown>, kind: SqlserverKind): RawBuilder<unknown> {
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
 * Rows of texts: what the server printed, floating point numbers with the digits that tell them apart, bytes in
 * hexadecimal.
 */
export function textRows(
  stream: string,
  names: readonly string[],
  columns: ReadonlyMap<string, SqlserverColumn>,
  rows: readonly SqlserverValue[][],
): (string | null)[][] {
  return rows.map((row) =>
    row.map(({ value }, index) => {
      const name = names[index] ?? ''
      return textOf(stream, name, columns.get(name)?.kind ?? 'text', value)
    }),
  )
}

function textOf(stream: string, name: string, kind: SqlserverKind, value: unknown): string | null {
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

/** A cursor column so that it sorts and compares by one rule. */
export function cursorOf(name: string, kind: SqlserverKind): RawBuilder<unknown> {
  const at = sql.id('s', name)
  // Some collations sort texts by other rules if they are not national ones; the watermark is a national one.
  return kind === 'text' ? sql`convert(nvarchar(4000), ${at})` : at
}

/** A watermark as a value of its cursor's type. */
export function watermarkValue(text: string, { kind, precision, scale }: SqlserverColumn): RawBuilder<unknown> {
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
