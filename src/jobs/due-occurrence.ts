import { CronExpressionParser } from 'cron-parser'
import { ConfigError } from '../config/config-error.ts'

const dayMs = 86_400_000

/**
 * The newest occurrence of a schedule that has fallen due, or null. Pure but for the library's calendar: what is due is
 * decided here and by the table of runs, never by whether a tick came.
 *
 * Every local time occurs once: one that the clocks skip falls due as long after the change as it would have stood
 * before it, and one that they repeat falls due the first time. So the expression is read on the wall clock, and the
 * library, which skips the one and repeats the other, sees no time zone.
 * @throws {ConfigError} when the expression or the time zone is none.
 */
export function dueOccurrence(
  name: string,
  { schedule, timeZone }: { schedule: string | null; timeZone: string },
  now: Date,
): Date | null {
  if (schedule === null) return null
  try {
    const wall = wallClock(timeZone)
    const occurrences = CronExpressionParser.parse(schedule, {
      currentDate: new Date(wall(now.getTime()) + 1),
      tz: 'UTC',
    })
    for (;;) {
      const due = instantOf(occurrences.prev().getTime(), wall)
      if (due <= now.getTime()) return new Date(due)
    }
  } catch (error) {
    throw new ConfigError('The schedule cannot be used:', [
      { path: `jobs.${name}.schedule`, message: `'${schedule}' in ${timeZone}: ${(error as Error).message}` },
    ])
  }
}

/** From an instant to what clocks in the time zone show, written as if it were UTC; both in milliseconds. */
type WallClock = (instant: number) => number

function wallClock(timeZone: string): WallClock {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (instant) => {
    const shown = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
    return Date.UTC(year, month - 1, day, hour, minute, second) + (instant % 1000)
  }
}

/** The first instant at which clocks show a time; where they skip it, the time passed over is added. */
function instantOf(shown: number, wall: WallClock): number {
  const offsetAt = (instant: number) => wall(instant) - instant
  const before = shown - offsetAt(shown - dayMs)
  const after = shown - offsetAt(shown + dayMs)
  return [Math.min(before, after), Math.max(before, after)].find((instant) => wall(instant) === shown) ?? before
}
