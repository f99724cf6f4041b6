import { InvalidArgumentError } from 'commander'

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/**
 * The moment that `--since` names: so long ago (`90m`, `12h`, `3d`), or a date or time, in UTC unless it names a zone.
 * @throws {InvalidArgumentError} when it is neither.
 */
export function sinceMoment(text: string, now: Date): Date {
  const ago = /^(\d{1,6})([mhd])$/.exec(text)
  if (ago !== null) return new Date(now.getTime() - Number(ago[1]) * units[ago[2] as keyof typeof units])
  const named = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?$/.test(text)
  const moment = new Date(named ? withZone(text.replace(' ', 'T')) : Number.NaN)
  if (Number.isNaN(moment.getTime())) {
    throw new InvalidArgumentError('A time is wanted, such as 12h, 3d, 2026-11-21 or 2026-11-21T02:00Z.')
  }
  return moment
}

/** A date alone is midnight in UTC by itself; a time without a zone would be local. */
function withZone(text: string): string {
  return text.includes('T') && !/(Z|[+-]\d{2}:\d{2})$/.test(text) ? `${text}Z` : text
}
