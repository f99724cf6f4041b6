import pg from 'pg'
import type { CursorProtection } from '../db/tables/run-tables.ts'
import { type CursorQuery, type DeltaQuery, type StreamQuery, withoutSemicolon } from './dialect.ts'
import type { PostgresBound } from './postgres-bound.ts'

/**
 * The configured query, wrapped: its columns as text, in cursor order, from the watermark on; rows without a cursor are
 * always read.
 */
export function deltaSql(
  cursorType: number | undefined,
  bound: PostgresBound,
  delta: DeltaQuery,
): { text: string; values: unknown[] } {
  const { select, at, type } = cursorSql(cursorType, bound, delta)
  const lower = type === undefined ? '$1' : `$1::${type} - interval '${Math.trunc(delta.overlapMs)} milliseconds'`
  const past = delta.from === null ? '' : ` where ${at} >= ${lower} or ${at} is null`
  const which = delta.only === undefined ? past : onlySql(delta.only)
  return {
    text: `${select}${which} order by ${at} nulls first`,
    values: delta.only !== undefined ? [delta.only.partnerIds] : delta.from === null ? [] : [delta.from],
  }
}

/** The columns of a query and its cursor as far as it may move the watermark; the cursor itself; its type if a time. */
export function cursorSql(
  cursorType: number | undefined,
  bound: PostgresBound,
  query: CursorQuery,
): { select: string; at: string; type: string | undefined } {
  // A transaction that is still open may commit rows that carry the time at which it began, and a time that lies ahead
  // may be anything: neither may carry the watermark past what was not seen.
  const type = timeTypes[cursorType ?? 0]
  const moment = `${pg.escapeLiteral(bound.moment)}::timestamptz`
  // A time without a zone is what clocks showed at the partner, which may stand at UTC or behind it.
  const shown = `least(${moment} at time zone 'UTC', ${moment} at time zone ${pg.escapeLiteral(bound.zone)})`
  const newest = type === 'timestamptz' ? moment : `${shown}::${type}`
  const at = `s.${pg.escapeIdentifier(query.cursor)}`
  const cursor = type === undefined ? at : `case when ${at} > ${newest} then ${newest} else ${at} end`
  const itself = type === undefined ? '' : `, case when ${at} > ${newest} then ${at} end::text`
  const select = `select ${textColumns(query)}, ${cursor}::text${itself} from (${withoutSemicolon(query.query)}\n) s`
  return { select, at, type }
}

/** By the same text as is read. */
function onlySql({ column, partnerIds }: NonNullable<DeltaQuery['only']>): string {
  const id = `s.${pg.escapeIdentifier(column)}`
  return ` where ${id}::text = any($1::text[])${partnerIds.includes('') ? ` or ${id} is null` : ''}`
}

/** The columns of a stream's query as the server prints them. */
export function textColumns({ columns }: StreamQuery): string {
  return columns.map((column) => `s.${pg.escapeIdentifier(column)}::text`).join(', ')
}

/** Types of times: only of these can be said which value an open transaction may still commit. */
const timeTypes: Record<number, string> = { 1082: 'date', 1114: 'timestamp', 1184: 'timestamptz' }

/** How well a cursor of this type finds rows that are committed late. */
export function protectionOf(cursorType: number | undefined, { lacks }: PostgresBound): CursorProtection {
  if (timeTypes[cursorType ?? 0] === undefined) return 'none'
  return lacks === null ? 'transactions' : 'overlap'
}

/** The row with the newest cursor among those that come in any order, as far as the texts of its type say which. */
export class NewestRow {
  readonly #rankOf: ((text: string) => string | bigint | null) | undefined
  readonly #at: number
  #rank: string | bigint | null = null
  #text: string | null = null

  /** Whether the texts said of every row so far whether it is newer. */
  isTold: boolean

  /** The newest so far; null while no row had a cursor. */
  row: (string | null)[] | null = null

  constructor(cursorType: number | undefined, { columns }: CursorQuery) {
    const type = cursorType ?? 0
    this.#rankOf = timeTypes[type] !== undefined ? plainTime : integerTypes.has(type) ? BigInt : undefined
    this.#at = columns.length
    this.isTold = this.#rankOf !== undefined
  }

  /** Looks at the next rows. Of rows with equal cursors the first counts. */
  look(rows: readonly (string | null)[][]): void {
    if (!this.isTold || this.#rankOf === undefined) return
    for (const row of rows) {
      const text = row[this.#at + 1] ?? row[this.#at] ?? null
      if (text === null || text === this.#text) continue
      const rank = this.#rankOf(text)
      if (rank === null) {
        this.isTold = false
        return
      }
      if (this.#rank !== null && rank <= this.#rank) continue
      this.#rank = rank
      this.#text = text
      this.row = row
    }
  }
}

/** Types of whole numbers. */
const integerTypes: ReadonlySet<number> = new Set([20, 21, 23])

/** A time whose text stands among others of its type as the time does: years of four digits, after Christ. */
function plainTime(text: string): string | null {
  return text[4] === '-' && !text.endsWith('C') ? text : null
}
