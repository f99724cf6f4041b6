import type { LookupsRead, WholeReason } from '../../db/tables/run-tables.ts'
import { isDate } from '../streams/rules/answer-value.ts'
import type { StreamReading, StreamWatermark } from './landing/stream-reading.ts'
import { lookupChange } from './lookups/lookups-in-use.ts'

/** What a cursor stream is read with now. */
export type ReadingNow = {
  cursor: string
  cursorType: string | null
  server: string | null
  queryDigest: string
  lookups: LookupsRead
  fullEveryMs: number | null
  /** How much the partner's clock has lost since the watermark was taken; null where that is usual, or not known. */
  clockLostMs: number | null
}

export type Whole = { reason: WholeReason; detail: string | null }

/**
 * Whether all rows of a cursor stream have to be read and compared, instead of those from its watermark on, and why.
 * Pure. A full comparison is always safe: content is compared by hash, and the guard judges what would change.
 */
export function whyWhole(before: StreamReading, watermark: StreamWatermark | null, now: ReadingNow): Whole | null {
  if (before.capture === null && watermark === null) return { reason: 'first', detail: null }
  if (before.capture === 'snapshot') return { reason: 'capture', detail: 'was snapshot and is cursor' }
  if (before.whole_wanted !== null) return { reason: before.whole_wanted, detail: null }
  if (watermark === null) return { reason: 'no_watermark', detail: null }
  const changed = cursorChange(watermark, now)
  if (changed !== null) return { reason: 'cursor', detail: changed }
  if (before.server !== null && now.server !== null && before.server !== now.server) {
    return { reason: 'server', detail: `was ${before.server} and is ${now.server}` }
  }
  if (now.clockLostMs !== null) {
    return { reason: 'clock', detail: `by ${Math.round(now.clockLostMs / 60_000)} minutes` }
  }
  if (isOtherQuery(before, now.queryDigest)) return { reason: 'query', detail: null }
  const lookups = lookupChange(before.lookups, now.lookups)
  if (lookups !== null) return { reason: 'lookup', detail: lookups }
  return isDue(before.whole_ago_ms, now.fullEveryMs) ? { reason: 'due', detail: null } : null
}

/**
 * Whether a stream was last read by another query, or one with other columns or another key: no cursor moves when a
 * query is corrected. Of a reading before digests were kept nobody can say, and it is not read whole for that. Pure.
 */
export function isOtherQuery({ query_digest }: Pick<StreamReading, 'query_digest'>, queryDigest: string): boolean {
  return query_digest !== null && query_digest !== queryDigest
}

/** A night that begins a little earlier than the last must not put a comparison off to the next. */
const earlyShare = 0.95

function isDue(agoMs: number | null, everyMs: number | null): boolean {
  if (everyMs === null) return false
  // Less than nothing: the clock of our own database was ahead then.
  return agoMs === null || agoMs < 0 || agoMs >= everyMs * earlyShare
}

/**
 * What is different about a cursor since its watermark was taken; null where nothing is. A type that is not known is
 * none.
 */
function cursorChange(watermark: StreamWatermark, { cursor, cursorType }: ReadingNow): string | null {
  if (watermark.cursor === null) return agrees(watermark.watermark, cursorType) ? null : `is ${cursor} (${cursorType})`
  const sameType = watermark.cursor_type === null || cursorType === null || watermark.cursor_type === cursorType
  if (watermark.cursor === cursor && sameType) return null
  return `was ${watermark.cursor} (${watermark.cursor_type ?? 'of no known type'}) and is ${cursor} (${cursorType ?? 'of no known type'})`
}

/** Whether a watermark of which only the text was kept can be one of a type: times and numbers are told apart by it. */
function agrees(text: string, type: string | null): boolean {
  if (type === null) return true
  if (/^(date|timestamp|datetime)/.test(type)) return timeText.test(text)
  if (/^(smallint|integer|bigint|numeric|real|double|exact|number|decimal|money|single)/.test(type)) {
    return /^-?\d/.test(text) && !timeText.test(text)
  }
  return true
}

/** How all dialects print times and dates. */
const timeText = /^\d{4,}-\d{2}-\d{2}/

/** A time that is later than any watermark, and less than it as a text. */
const pastYear9999 = /^\d{5,}-/

/** What was seen of the row that carried the watermark, while rows from there on were read. */
type WitnessSeen = {
  /**
   * Its cursor itself: as far as it may move the watermark, it depends on who has a transaction open now. Null where it
   * has none now, undefined where it was not there.
   */
  cursor: string | null | undefined
}

/**
 * Whether the row that carried the watermark is not where it has to be: at or past it, for a cursor only grows. It was
 * deleted then, or its time was put back, as by the restore of an older copy. Pure.
 *
 * Times are compared as texts, because they are printed by one server in one form and in UTC. Other cursors are read
 * without overlap, so what is read of them lies at or past the watermark.
 */
export function movedBack(watermark: StreamWatermark, seen: WitnessSeen): boolean {
  if (watermark.witness === null) return false
  if (seen.cursor === undefined) return true
  if (seen.cursor === null || !timeText.test(watermark.watermark) || pastYear9999.test(seen.cursor)) return false
  return seen.cursor < watermark.watermark
}

export type EarlierCursor =
  | { kind: 'earlier'; cursor: string }
  /** There is no watermark to go back from: everything is read anyway. */
  | { kind: 'no watermark' }
  /** Neither a time nor a number. */
  | { kind: 'no value' }
  /** What was asked for is no value of the cursor, such as a date where it is a number, or one beyond its type. */
  | { kind: 'other type'; watermark: string }
  /** It lies past the watermark, from which reading has to begin: rows between the two would be missed. */
  | { kind: 'not earlier'; watermark: string }
  /** The order of texts is the partner's: nobody can tell here which of two comes first. */
  | { kind: 'no order'; watermark: string }

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const number = /^-?\d+(\.\d+)?$/
const timeAgo = /^(\d{1,6})([mhd])$/
const zoneAtEnd = /(Z|[+-]\d{2}(:?\d{2})?)$/

/** How far clocks can stand behind UTC: twelve hours, in the zone that is furthest west. Milliseconds. */
const furthestWestMs = 12 * 3_600_000

/**
 * The cursor to go back to, as every dialect reads it. Pure.
 *
 * A cursor without a zone is what clocks showed at the partner, and where these stand nobody knows here. A time ago, or
 * a time with a zone, is taken to be what the clock furthest west showed then, twelve hours behind UTC: to read too
 * much does no harm, to read too little does. What has no zone itself is compared as it is.
 *
 * @param before the watermark as the partner's server printed it; what it is shows in its form. Where it is a whole
 *   number, a fraction is rounded down: all values of the cursor may be whole, and to their type it is none.
 * @param since a time ago (`3d`), a date or time (UTC, or the partner's clock, unless it says otherwise), or a number.
 */
export function earlierCursor(
  before: Pick<StreamWatermark, 'watermark' | 'cursor_type'> | null,
  since: string,
  now: Date,
): EarlierCursor {
  if (before === null) {
    return { kind: momentOf(since, now) === null && !number.test(since) ? 'no value' : 'no watermark' }
  }
  const { watermark, cursor_type } = before
  if (timeText.test(watermark)) {
    const moment = momentOf(since, now)
    const behindMs = !hasZone(watermark) && (timeAgo.test(since) || hasZone(since)) ? furthestWestMs : 0
    const from = moment === null ? null : new Date(moment.getTime() - behindMs)
    // No server reads the years before the first in this form.
    if (from === null || from.getUTCFullYear() < 1) return { kind: 'other type', watermark }
    const cursor = printed(from)
    // Both in UTC, or in whatever the clocks of the partner show; a prefix comes before what it begins.
    return cursor < watermark ? { kind: 'earlier', cursor } : { kind: 'not earlier', watermark }
  }
  if (!number.test(watermark)) return { kind: 'no order', watermark }
  if (!number.test(since)) return { kind: 'other type', watermark }
  if (!isLess(since, watermark)) return { kind: 'not earlier', watermark }
  const cursor = watermark.includes('.') ? since : roundedDown(since)
  const least = leastOf[cursor_type ?? '']
  if (least !== undefined && isLess(cursor, least)) return { kind: 'other type', watermark }
  return { kind: 'earlier', cursor }
}

/** The least values of types that have one, by the names that dialects give them; a lesser one ends the reading. */
const leastOf: Readonly<Record<string, string>> = {
  smallint: '-32768',
  integer: '-2147483648',
  bigint: '-9223372036854775808',
  number: '-9223372036854775808',
  bits: '0',
}

function roundedDown(text: string): string {
  const [whole = ''] = text.split('.')
  const isFraction = /[^0]/.test(fraction(text))
  return isFraction && text.startsWith('-') ? String(BigInt(whole) - 1n) : whole
}

/** Whether a time says where its clock stands; the day has the same signs. */
function hasZone(time: string): boolean {
  return zoneAtEnd.test(time.slice('2026-11-21'.length))
}

/** A moment that a text says: a time ago, or a time or date, in UTC unless it says otherwise; null for others. Pure. */
export function momentOf(text: string, now: Date): Date | null {
  const [, count, unit] = timeAgo.exec(text) ?? []
  if (count !== undefined) return new Date(now.getTime() - Number(count) * units[unit as keyof typeof units])
  if (!/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$/.test(text)) return null
  if (!isDate(text.slice(0, '2026-11-21'.length))) return null
  const time = text.replace(' ', 'T')
  const zone = /([+-]\d{2})(:?\d{2})?$/.exec(time.slice(10))
  const full = !time.includes('T') || time.endsWith('Z') ? time : zone === null ? `${time}Z` : withMinutes(time)
  const moment = new Date(full)
  return Number.isNaN(moment.getTime()) ? null : moment
}

/** `+00`, as PostgreSQL writes a zone, is no zone to JavaScript. */
function withMinutes(time: string): string {
  return time.replace(/([+-]\d{2}):?(\d{2})?$/, (_, hours: string, minutes = '00') => `${hours}:${minutes}`)
}

/** Compares two decimal numbers digit by digit: cursors may have more digits than a double. */
function isLess(one: string, other: string): boolean {
  const scale = Math.max(fraction(one).length, fraction(other).length)
  return scaled(one, scale) < scaled(other, scale)
}

function fraction(text: string): string {
  return text.split('.')[1] ?? ''
}

function scaled(text: string, digits: number): bigint {
  return BigInt(`${text.split('.')[0]}${fraction(text).padEnd(digits, '0')}`)
}

/** Types of times that say where the clock stood, by the names that the dialects give them. */
const zoned: ReadonlySet<string> = new Set(['timestamp with time zone', 'timestamp', 'datetimeoffset'])

/** How far clocks are put back in autumn. Milliseconds. */
const putBackMs = 3_600_000

/**
 * How much more than the overlap is read again before the watermark of a cursor. Clocks that are put back show times
 * that they showed before, and a time without a zone does not tell the two apart. Milliseconds. Pure.
 */
export function putBackBy(cursorType: string | null): number {
  return cursorType !== null && zoned.has(cursorType) ? 0 : putBackMs
}

/** Times and dates of four-digit years without a zone, as servers print them. */
const plainTime = /^\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d+)?)?$/

type NewestTime = {
  /** As far as it may move the watermark: no further than the server shows the oldest open transaction's start. */
  newest: string
  /** That cursor itself, which may lie further ahead. */
  itself: string
  /** The newest cursor of the rows that do not lie ahead; null where all do. */
  reached: string | null
  cursorType: string | null
  /** How long the oldest transaction has been open that may still write. Milliseconds. */
  openMs: number
  /** The watermark from which rows were read; null where all were, so that it proves nothing. */
  before: string | null
}

/**
 * The watermark of a time, before all that an open transaction may still commit. Where the clocks stand that a time
 * without a zone comes from, nobody knows here; but it was written by a clock that is further by now, and one that an
 * open transaction writes is at most as much older than now as that has been open. A transaction that began after the
 * last reading writes times past the watermark of then, which does not go back for it.
 *
 * What a row says that lies ahead no clock has shown yet, and clocks that stand further west than the server's have not
 * even shown the time of reading: such a row moves the watermark nowhere, and the newest of the others does. Pure.
 */
export function beforeOpen({ reached, ...last }: NewestTime): string {
  const { newest, itself, cursorType, openMs, before } = last
  if (putBackBy(cursorType) === 0 || newest === itself || !liesAhead(last)) return standingBack(last)
  if (reached !== null) return standingBack({ newest: reached, itself: reached, cursorType, openMs, before })
  return before ?? earlierBy(furthestWestMs, newest) ?? newest
}

/**
 * How far the newest time that may move a watermark stays behind the clock although nothing is open, and what reading
 * the clock may take. Too little takes rows of just now for some that lie ahead: a first reading that has no others is
 * then followed by one that reads half a day again. Milliseconds.
 */
const unlistedMs = 1_000

/** Whether a time was written by a clock that is wrong, and not while a transaction was open that may still write. */
function liesAhead({ newest, itself, openMs }: Pick<NewestTime, 'newest' | 'itself' | 'openMs'>): boolean {
  const back = earlierBy(openMs + unlistedMs, itself)
  return back === null || back > newest
}

function standingBack({ newest, itself, cursorType, openMs, before }: Omit<NewestTime, 'reached'>): string {
  if (openMs === 0 || putBackBy(cursorType) === 0 || !plainTime.test(newest)) return newest
  const back = earlierBy(openMs, itself) ?? newest
  const bound = back < newest ? back : newest
  return before !== null && bound < before && before <= newest ? before : bound
}

/** A time less some milliseconds; null if no server or calendar has such a time, as on the day 0000-00-00. */
function earlierBy(ms: number, plain: string): string | null {
  const [day, time] = plain.split(' ')
  const at = plainTime.test(plain) ? Date.parse(`${day}T${time ?? '00:00:00'}Z`) - Math.ceil(ms) : Number.NaN
  if (Number.isNaN(at) || at < firstYear) return null
  const text = printed(new Date(at))
  return time === undefined ? text.slice(0, '2026-11-21'.length) : text
}

/** No server reads earlier years in this form. */
const firstYear = Date.parse('0001-01-01T00:00:00Z')

/** A time as all servers read it, without its zone. */
function printed(moment: Date): string {
  return moment.toISOString().replace('T', ' ').replace('Z', '')
}
