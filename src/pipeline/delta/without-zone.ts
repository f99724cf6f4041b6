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
 * last reading writes times past the watermark of then, which does not go back for it. Pure.
 */
export function beforeOpen({ newest, itself, cursorType, openMs, before }: NewestTime): string {
  if (openMs === 0 || putBackBy(cursorType) === 0 || !plainTime.test(newest)) return newest
  const back = earlierBy(openMs, itself) ?? newest
  const bound = back < newest ? back : newest
  return before !== null && bound < before && before <= newest ? before : bound
}

/** A time less some milliseconds; null where it is none that servers and calendars know, such as the day 0000-00-00. */
function earlierBy(ms: number, plain: string): string | null {
  const [day, time] = plain.split(' ')
  const at = plainTime.test(plain) ? Date.parse(`${day}T${time ?? '00:00:00'}Z`) - Math.ceil(ms) : Number.NaN
  if (Number.isNaN(at) || at < firstYear) return null
  const text = new Date(at).toISOString()
  return time === undefined ? text.slice(0, 10) : text.replace('T', ' ').replace('Z', '')
}

/** No server reads earlier years in this form. */
const firstYear = Date.parse('0001-01-01T00:00:00Z')
