import { timeText } from './why-whole.ts'

export type EarlierCursor =
  | { kind: 'earlier'; cursor: string }
  /** There is no watermark to go back from: everything is read anyway. */
  | { kind: 'no watermark' }
  /** Neither a time nor a number. */
  | { kind: 'no value' }
  /** What was asked for is no value of the cursor, such as a date where the cursor is a number. */
  | { kind: 'other type'; watermark: string }
  /** It lies past the watermark: rows between the two would be missed. */
  | { kind: 'not earlier'; watermark: string }
  /** The order of texts is the partner's: nobody can tell here which of two comes first. */
  | { kind: 'no order'; watermark: string }

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const number = /^-?\d+(\.\d+)?$/

/**
 * The cursor to go back to, as every dialect reads it. Pure.
 *
 * @param watermark as the partner's server printed it; what it is shows in its form.
 * @param since a time ago (`3d`), a date or time (UTC unless it says otherwise), or a number.
 */
export function earlierCursor(watermark: string | null, since: string, now: Date): EarlierCursor {
  if (watermark === null) {
    return { kind: momentOf(since, now) === null && !number.test(since) ? 'no value' : 'no watermark' }
  }
  if (timeText.test(watermark)) {
    const moment = momentOf(since, now)
    if (moment === null) return { kind: 'other type', watermark }
    const cursor = moment.toISOString().replace('T', ' ').replace('Z', '')
    // Both in UTC, or in whatever the clocks of the partner show; a prefix comes before what it begins.
    return cursor < watermark ? { kind: 'earlier', cursor } : { kind: 'not earlier', watermark }
  }
  if (!number.test(watermark)) return { kind: 'no order', watermark }
  if (!number.test(since)) return { kind: 'other type', watermark }
  return isLess(since, watermark) ? { kind: 'earlier', cursor: since } : { kind: 'not earlier', watermark }
}

function momentOf(text: string, now: Date): Date | null {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (count !== undefined) return new Date(now.getTime() - Number(count) * units[unit as keyof typeof units])
  if (!/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$/.test(text)) return null
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
