import type { ProtectionLack } from '../db/tables/run-tables.ts'

/** No row past `moment` (UTC) may move a watermark; `shown` is the earliest that a clock of the server showed then. */
export type ServerBound = { moment: string; shown: string; lacks: ProtectionLack | null }

/** When the oldest transaction that may still write began, in the clock of its list; whether the list shows us all. */
export type OldestTransaction = { oldest: string | null; seesAll: boolean }

/**
 * The start of the oldest transaction, or `began` where none is older.
 * @param oldest in UTC, as `began` is.
 * @param shownAt what the earliest clock of the server showed at a moment.
 * @param isCopy whether rows arrive from a server whose transactions are not listed here.
 */
export async function boundOf(
  { began, oldest, seesAll }: OldestTransaction & { began: string },
  shownAt: (moment: string) => string | Promise<string>,
  isCopy: () => Promise<boolean>,
): Promise<ServerBound> {
  const moment = oldest !== null && oldest < began ? oldest : began
  const there = await shownAt(moment)
  const lacks = seesAll ? ((await isCopy()) ? 'standby' : null) : 'privilege'
  return { moment, shown: there < moment ? there : moment, lacks }
}

/** Zones are a multiple of a quarter of an hour apart; what is left is the time that our own question took. */
const quarterMs = 900_000
const hourMs = 3_600_000

/**
 * A time of a server's own clock, in UTC.
 * @param secondsAhead how far that clock is before UTC now, with the seconds that it took to ask.
 *
 * A clock that is not at UTC may have been put back since, so an hour is taken off: reading too much does no harm.
 */
export function inUtc(text: string, secondsAhead: number): string {
  const aheadMs = Math.round((secondsAhead * 1000) / quarterMs) * quarterMs
  return moved(text, -aheadMs - (aheadMs === 0 ? 0 : hourMs))
}

/** A time as servers print it, so many milliseconds later. */
export function moved(text: string, ms: number): string {
  const at = Date.parse(`${text.replace(' ', 'T')}Z`) + ms
  return new Date(at).toISOString().replace('T', ' ').replace('Z', '')
}
