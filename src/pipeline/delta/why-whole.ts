import type { WholeReason } from '../../db/tables/run-tables.ts'
import type { StreamReading, StreamWatermark } from './landing/stream-reading.ts'

/** What a cursor stream is read with now. */
export type ReadingNow = {
  cursor: string
  cursorType: string | null
  server: string | null
  fullEveryMs: number | null
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
  return isDue(before.whole_ago_ms, now.fullEveryMs) ? { reason: 'due', detail: null } : null
}

/** A night that begins a little earlier than the last must not put a comparison off to the next. */
const earlyShare = 0.95

function isDue(agoMs: number | null, everyMs: number | null): boolean {
  if (everyMs === null) return false
  return agoMs === null || agoMs >= everyMs * earlyShare
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
export const timeText = /^\d{4,}-\d{2}-\d{2}/

/** What was seen of the row that carried the watermark, while rows from there on were read. */
type WitnessSeen = {
  /** Its cursor, as far as it may move the watermark; null where it has none now, undefined where it was not there. */
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
  return seen.cursor !== null && timeText.test(watermark.watermark) && seen.cursor < watermark.watermark
}
