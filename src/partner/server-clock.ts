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
  const at = Date.parse(`${text.replace(' ', 'T')}Z`) - aheadMs - (aheadMs === 0 ? 0 : hourMs)
  return new Date(at).toISOString().replace('T', ' ').replace('Z', '')
}
