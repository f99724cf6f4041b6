import { CronExpressionParser } from 'cron-parser'
import { ConfigError } from '../config/environment.ts'

const dayMs = 86_400_000

/**
 * The newest occurrence of a schedule that has fallen due, or null. Pure but for the library's calendar: what is due is
 * decided here and by the table of runs, never by whether a tick came.
 *
 * Every local time occurs once: one that the clocks skip falls due as long after the change as it would have stood
 * before it, and one that they repeat falls due the first time. So the expression is read on the wall clock, and the
 * library, which skips the one and repeats the other, sees no time zone.
 * @throws {ConfigError} when the expression or the time zone is invalid.
 */
export function dueOccurrence(
  name: string,
  { schedule, timeZone }: { schedule: string | null; timeZone: string },
  now: Date,
): Date | null {
  if (schedule === null) return null
  return withCalendar(name, schedule, timeZone, (wall) => {
    // Where clocks were put back lately, what fell due before that lies ahead on the wall.
    const occurrences = read(schedule, wall(now.getTime()) + putBack(now.getTime(), wall) + 1)
    for (;;) {
      const due = instantOf(occurrences.prev().getTime(), wall)
      if (due <= now.getTime()) return new Date(due)
    }
  })
}

/**
 * The first occurrence of a schedule that is yet to come, or null. Pure.
 * @throws {ConfigError} when the expression or the time zone is invalid.
 */
export function nextOccurrence(
  name: string,
  { schedule, timeZone }: { schedule: string | null; timeZone: string },
  now: Date,
): Date | null {
  if (schedule === null) return null
  return withCalendar(name, schedule, timeZone, (wall) => {
    // From before an hour that clocks may repeat: on the wall its occurrences lie behind, and have yet to come.
    const occurrences = read(schedule, wall(now.getTime()) - dayMs)
    for (;;) {
      const next = instantOf(occurrences.next().getTime(), wall)
      if (next > now.getTime()) return new Date(next)
    }
  })
}

/**
 * The first moment after another at which clocks in a time zone show a time of day. Pure.
 * @param time as in `06:30`; midnight is `00:00`.
 */
export function deadlineAfter(time: string, timeZone: string, after: Date): Date {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  const next = nextOccurrence('', { schedule: `${minutes} ${hours} * * *`, timeZone }, after)
  if (next === null) throw new Error('a time of day comes every day')
  return next
}

function read(schedule: string, shown: number) {
  return CronExpressionParser.parse(schedule, { currentDate: new Date(shown), tz: 'UTC' })
}

function withCalendar(name: string, schedule: string, timeZone: string, find: (wall: WallClock) => Date): Date {
  try {
    return find(wallClock(timeZone))
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

/** By how many milliseconds clocks were put back within the day before an instant; 0: by none. */
function putBack(instant: number, wall: WallClock): number {
  const before = instant - dayMs
  return Math.max(0, wall(before) - before - (wall(instant) - instant))
}

/** The first instant at which clocks show a time; where they skip it, the time passed over is added. */
function instantOf(shown: number, wall: WallClock): number {
  const offsetAt = (instant: number) => wall(instant) - instant
  const before = shown - offsetAt(shown - dayMs)
  const after = shown - offsetAt(shown + dayMs)
  return [Math.min(before, after), Math.max(before, after)].find((instant) => wall(instant) === shown) ?? before
}
