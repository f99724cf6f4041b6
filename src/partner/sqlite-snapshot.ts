import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { copyLines } from '../db/copy-text.ts'
import type { CursorProtection } from '../db/tables/run-tables.ts'
import {
  allInOrder,
  bytesText,
  type DeltaQuery,
  type DeltaRows,
  heldBytes,
  type PartnerOptions,
  type PartnerSnapshot,
  type QueryPlan,
  type StreamQuery,
  withoutSemicolon,
} from './dialect.ts'
import { type ErrorKinds, PartnerDatabaseError, readFailed, requireColumns } from './partner-errors.ts'
import { openSqliteFile } from './sqlite-file.ts'

/** Busy, locked, not to be read, malformed, not to be opened, locked oddly, no database. */
const fileTrouble = new Set([5, 6, 10, 11, 14, 15, 26])

/** Out of memory, and a disk that the statement filled with what it sorts: another attempt would fill it again. */
const usedUp = new Set([7, 13])

/** How the errors of SQLite are told apart. It has no statement time-out. */
export const sqliteErrors: ErrorKinds = {
  isLost: (error) => fileTrouble.has(kindOf(error)),
  isTooSlow: () => false,
  otherwise: (error) => (usedUp.has(kindOf(error)) ? 'give this machine more space or memory' : null),
}

/** The lower byte of a result code. */
function kindOf(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff
}

/**
 * A SQLite file, opened to read, in one read transaction: what others commit meanwhile is not seen. Nobody can say
 * which transactions are open elsewhere, so late commits are found by the overlap alone. The library works on this
 * thread and cannot be interrupted, so `statementTimeoutMs` means nothing here.
 */
export async function openSqliteSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  const { database: open } = openSqliteFile(options)
  return {
    // Nothing in the file says that it was replaced; the newest row that is known does.
    server: null,
    lacks: null,
    openMs: 0,
    clock: clockOf(open),
    // A time is a text to a watermark: one value that is none must not look like another column.
    cursorType: async (query) => {
      const kind = cursorOf(open, query, query.cursor)
      return kind === 'none' ? null : kind === 'number' ? 'number' : 'text'
    },
    check: async (query) => {
      describe(open, query)
      return query.cursor === null ? null : protectionOf(cursorOf(open, query, query.cursor))
    },
    explain: async (query) => explain(open, query),
    delta: (delta) => readDelta(open, delta),
    all: (query) => allInOrder({ delta: (delta) => readDelta(open, delta) }, query),
    lines: (query) => readLines(open, query),
    hasRows: async ({ stream, query }) =>
      failing(stream, () => open.prepare(`select 1 from (${withoutSemicolon(query)}\n) s limit 1`).get() !== undefined),
    close: async () => {
      // A second call does nothing, as in the other dialects.
      if (open.isOpen) open.close()
    },
  }
}

/** The clock of this machine, by which the library says what lies ahead. */
function clockOf(database: DatabaseSync): PartnerSnapshot['clock'] {
  const at = performance.now()
  const { days } = database.prepare(`select julianday('now') as days`).get() as { days: number }
  return { ms: (days - daysBefore1970) * 86_400_000, at }
}

/** From noon of 24 November of the year -4713, where the library's days begin. */
const daysBefore1970 = 2_440_587.5

function describe(
  database: DatabaseSync,
  { stream, query, columns, cursor }: StreamQuery & { cursor: string | null },
): void {
  const yielded = failing(stream, () =>
    database
      .prepare(`select * from (${withoutSemicolon(query)}\n) s limit 0`)
      .columns()
      .map(({ name }) => name),
  )
  const wanted = cursor === null ? columns : [...columns, cursor]
  requireColumns(stream, wanted, asWanted(yielded, wanted))
}

/**
 * SQLite puts a number behind the name of a column if one before it has that name, in whatever case: `value:1`. Asked
 * for one of them, it gives the first, in whatever case that is: so all of them have the wanted name here.
 */
function asWanted(names: readonly string[], wanted: readonly string[]): string[] {
  const first = new Set(names.map((name) => name.toLowerCase()))
  const own = (name: string) => name.toLowerCase().replace(/:\d+$/, '')
  const repeated = new Set(names.filter((name) => own(name) !== name.toLowerCase()).map(own))
  return names.map((name) => {
    if (!repeated.has(own(name)) || !first.has(own(name))) return name
    return wanted.find((column) => column.toLowerCase() === own(name)) ?? name
  })
}

/**
 * What the cursor's values are. Each value of SQLite has a type of its own, and types have no common order. Of a `time`
 * one value is enough: those that are none are rows without a cursor, and carry no watermark past those that are.
 */
type CursorKind = 'time' | 'text' | 'number' | 'none'

/** Whether a value is a time that the library reads; null where it is null. */
function isTime(value: string): string {
  return `(${value} glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' and julianday(${value}) is not null)`
}

function cursorOf(database: DatabaseSync, { stream, query }: StreamQuery, cursor: string): CursorKind {
  const at = identifier(cursor)
  const { low, high, times } = failing(stream, () =>
    database
      .prepare(
        `select typeof(min(${at})) as low, typeof(max(${at})) as high,
                max(${isTime(at)}) as times
         from (${withoutSemicolon(query)}\n) s`,
      )
      .get(),
  ) as { low: string; high: string; times: number | null }
  if (low === 'null') return 'none'
  const kind = (type: string) => (type === 'text' ? 'text' : type === 'blob' ? 'blob' : 'number')
  if (kind(low) !== kind(high) || kind(low) === 'blob') {
    throw new PartnerDatabaseError(
      'partner_query_failed',
      `The cursor ${cursor} of the stream ${stream} holds ${low} and ${high} values, which have no common order. Fix streams.${stream}.query, for instance with a cast.`,
    )
  }
  if (kind(low) === 'number') return 'number'
  return times === 1 ? 'time' : 'text'
}

function protectionOf(kind: CursorKind): CursorProtection {
  return kind === 'time' || kind === 'none' ? 'overlap' : 'none'
}

/**
 * The library prices nothing and counts nothing. Rows without a cursor are always read, and all come in its order: so
 * it goes through all of them, by whatever index.
 */
function explain(database: DatabaseSync, query: StreamQuery & { cursor: string | null }): QueryPlan {
  describe(database, query)
  return { rows: null, cost: null, indexed: query.cursor === null ? null : false }
}

async function* readDelta(database: DatabaseSync, delta: DeltaQuery): DeltaRows {
  describe(database, delta)
  const kind = cursorOf(database, delta, delta.cursor)
  const at = identifier(delta.cursor)
  const { conditions, values } = delta.only === undefined ? pastWatermark(kind, at, delta) : ofHotels(delta.only)
  const where = conditions.length === 0 ? '' : ` where ${conditions.join(' or ')}`
  // A time that lies ahead may be anything and must not carry the watermark with it; clocks without a zone may stand
  // at UTC or at the local time.
  const now = `min(datetime('now'), datetime('now', 'localtime'))`
  const time = `case when ${isTime(at)} then ${at} end`
  const ahead = `julianday(${time}) > julianday(${now})`
  const cursor =
    kind === 'time' ? `case when ${ahead} then ${now} else ${time} end, case when ${ahead} then ${at} end` : at
  const order = kind === 'time' ? `julianday(${time}), ${time}` : at
  const text = `select ${columnsOf(delta)}, ${cursor} from (${withoutSemicolon(delta.query)}\n) s${where} order by ${order}`
  yield* batches(database, delta, text, values)
}

type Which = { conditions: string[]; values: Record<string, SQLInputValue> }

function pastWatermark(kind: CursorKind, at: string, { from, overlapMs }: DeltaQuery): Which {
  // A watermark of another type says nothing of these values: then everything is read.
  if (from === null || kind === 'none' || (kind === 'number') !== isNumber(from)) return { conditions: [], values: {} }
  const conditions = [`${at} >= :from`]
  if (kind === 'number') return { conditions: [...conditions, `${at} is null`], values: { ':from': numeric(from) } }
  if (kind === 'text') {
    return { conditions: [...conditions, `${at} is null`, isTime(':from')], values: { ':from': from } }
  }
  // Written in different ways, two times compare wrongly as texts: read too much then, never too little.
  conditions.push(
    `julianday(${at}) >= julianday(:from) - :overlap`,
    `${isTime(at)} is not 1`,
    `${isTime(':from')} is not 1`,
  )
  return { conditions, values: { ':from': from, ':overlap': overlapMs / 86_400_000 } }
}

/** Numbers that are no integers, and blobs, are printed here and not by SQL: rows with such an id are all read. */
function ofHotels({ column, partnerIds }: NonNullable<DeltaQuery['only']>): Which {
  const id = identifier(column)
  const conditions = [
    `cast(${id} as text) in (select value from json_each(:only))`,
    `typeof(${id}) in ('real', 'blob')`,
  ]
  if (partnerIds.includes('')) conditions.push(`${id} is null`)
  return { conditions, values: { ':only': JSON.stringify(partnerIds) } }
}

async function* readLines(database: DatabaseSync, query: StreamQuery): AsyncGenerator<Buffer> {
  describe(database, { ...query, cursor: null })
  const text = `select ${columnsOf(query)} from (${withoutSemicolon(query.query)}\n) s`
  for await (const rows of batches(database, query, text, {})) {
    yield copyLines(rows)
  }
}

/** Rows as texts, some at a time; between two of them the rest of the program has its turn. */
async function* batches(
  database: DatabaseSync,
  query: StreamQuery,
  sql: string,
  values: Record<string, SQLInputValue>,
): DeltaRows {
  const { stream, fetchRows, columns } = query
  /** Columns of the batch in which a character stands that may stand for bytes. */
  const doubtful = new Set<string>()
  try {
    const doubt = encodingOf(database) === 'UTF-8' ? replacement : replacementOrPair
    const statement = database.prepare(sql)
    statement.setReadBigInts(true)
    statement.setReturnArrays(true)
    let batch: (string | null)[][] = []
    let held = 0
    for (const row of statement.iterate(values) as Iterable<unknown> as Iterable<SQLOutputValue[]>) {
      batch.push(
        row.map((value, index) => {
          const column = columns[index]
          if (column !== undefined && typeof value === 'string' && doubt.test(value)) doubtful.add(column)
          const text = textOf(stream, column ?? 'cursor', value)
          held += text?.length ?? 0
          return text
        }),
      )
      if (batch.length < fetchRows && held < heldBytes) continue
      await requireCharacters(database, query, doubtful)
      yield batch
      batch = []
      held = 0
      await nextTurn()
    }
    await requireCharacters(database, query, doubtful)
    if (batch.length > 0) yield batch
  } catch (error) {
    throw readFailed(stream, error, sqliteErrors)
  }
}

/** What stands in a text for bytes that are no characters. */
const replacement = /\uFFFD/

/** The same where texts are UTF-16: half of a pair is joined there with the character behind it. */
const replacementOrPair = /[\uFFFD\uD800-\uDFFF]/

function encodingOf(database: DatabaseSync): string {
  return (database.prepare('pragma encoding').get() as { encoding: string }).encoding
}

/** What was found to be characters throughout, by the connection, whose transaction sees no later change. */
const soundColumns = new WeakMap<DatabaseSync, Set<string>>()

/** Values that are looked at before others have their turn. */
const valuesPerTurn = 1_000

/**
 * The library puts a character in the place of bytes that are none in the file's encoding, and that character may also
 * be meant. Where one comes, all bytes of its column are looked at, once.
 * @throws {PartnerDatabaseError} where bytes are no text.
 */
async function requireCharacters(
  database: DatabaseSync,
  { stream, query }: StreamQuery,
  columns: ReadonlySet<string>,
): Promise<void> {
  const sound = soundColumns.get(database) ?? new Set()
  soundColumns.set(database, sound)
  for (const column of columns) {
    const name = JSON.stringify([query, column])
    if (sound.has(name)) continue
    const encoding = encodingOf(database)
    const decoder = new TextDecoder(encoding, { fatal: true })
    const at = identifier(column)
    const found = database.prepare(
      `select cast(${at} as blob) as bytes from (${withoutSemicolon(query)}\n) s where typeof(${at}) = 'text'`,
    )
    let looked = 0
    for (const { bytes } of found.iterate() as Iterable<{ bytes: Uint8Array }>) {
      if (++looked % valuesPerTurn === 0) await nextTurn()
      try {
        decoder.decode(bytes)
      } catch {
        throw new PartnerDatabaseError(
          'partner_query_failed',
          `The stream ${stream} yields a text with broken characters in ${column}: its bytes are no ${encoding}, and nobody can tell what they mean. Fix the value, or streams.${stream}.query.`,
        )
      }
    }
    sound.add(name)
  }
}

/** A value as text: integers exactly, reals with the digits that tell them apart, blobs in hexadecimal. */
function textOf(stream: string, column: string, value: SQLOutputValue): string | null {
  if (value === null) return null
  if (value instanceof Uint8Array) return bytesText(value)
  const text = String(value)
  if (!text.includes('\0')) return text
  throw new PartnerDatabaseError(
    'partner_query_failed',
    `The stream ${stream} yields a text with a NUL character in ${column}, which can be neither stored nor sent. Fix the value, or streams.${stream}.query with replace(${column}, char(0), '').`,
  )
}

function isNumber(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text))
}

function numeric(text: string): number | bigint {
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text)
}

function columnsOf({ columns }: StreamQuery): string {
  return columns.map((column) => `s.${identifier(column)}`).join(', ')
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function failing<T>(stream: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw readFailed(stream, error, sqliteErrors)
  }
}
