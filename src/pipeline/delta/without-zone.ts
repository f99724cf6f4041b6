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

/**
 * The newest cursor of a time, less what an open transaction may still commit before it. Where the clocks stand that a
 * time without a zone comes from, nobody knows here; but it was written by a clock that is further by now, and one that
 * an open transaction writes is at most as much older than now as that has been open. Pure.
 * @param openMs how long the oldest transaction has been open that may still write.
 */
export function beforeOpen(newest: string, cursorType: string | null, openMs: number): string {
  if (openMs === 0 || putBackBy(cursorType) === 0 || !plainTime.test(newest)) return newest
  const [day, time] = newest.split(' ')
  const text = new Date(Date.parse(`${day}T${time ?? '00:00:00'}Z`) - Math.ceil(openMs)).toISOString()
  return time === undefined ? text.slice(0, 10) : text.replace('T', ' ').replace('Z', '')
}
