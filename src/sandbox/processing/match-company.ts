import type { MappingCompany } from '../requests/read-mappings.ts'
import { nameKey } from '../storable-text.ts'

/** What matching knows of a company. */
export type Candidate = {
  id: string
  nameKey: string
  latitude: number | null
  longitude: number | null
  countryCode: string | null
  hotelCode: string | null
  bookingId: string | null
}
export type Match = { companyId: string } | { reason: string }

/** How far apart, in metres, two sets of coordinates may be and still mean the same house. */
const nearMetres = 100

/**
 * Finds the company that is meant, by the first of these that matches any: hotel code, booking id, coordinates within
 * 100 m together with the name, name and country. Several matches by the same rule are ambiguous: later, weaker rules
 * do not decide between them. Spec gap: how the service matches is not shown, docs/spec-gaps.md.
 */
export function matchCompany(wanted: MappingCompany, candidates: readonly Candidate[]): Match {
  const { hotelCode, bookingId, coordinates, countryCode } = wanted
  const key = wanted.name === null ? null : nameKey(wanted.name)
  const tried: string[] = []
  const rules: [what: string, usable: boolean, matches: (candidate: Candidate) => boolean][] = [
    ['hotel code', isGiven(hotelCode), (candidate) => candidate.hotelCode === hotelCode],
    ['booking id', isGiven(bookingId), (candidate) => candidate.bookingId === bookingId],
    [
      'coordinates and name',
      coordinates !== null && isGiven(key),
      (candidate) =>
        candidate.nameKey === key && coordinates !== null && metresBetween(candidate, coordinates) <= nearMetres,
    ],
    [
      'name and country',
      isGiven(key) && isGiven(countryCode),
      (candidate) => candidate.nameKey === key && candidate.countryCode === countryCode?.toUpperCase(),
    ],
  ]
  for (const [what, usable, matches] of rules) {
    if (!usable) continue
    const [found, ...others] = candidates.filter(matches)
    if (found && others.length === 0) return { companyId: found.id }
    if (found) return { reason: `Ambiguous: ${others.length + 1} companies match by ${what}.` }
    tried.push(what)
  }
  if (tried.length === 0) return { reason: 'Nothing to match by: no code, and no name with coordinates or a country.' }
  return { reason: `No company matches by ${tried.join(', ')}.` }
}

function isGiven(detail: string | null): boolean {
  return detail !== null && detail.trim() !== ''
}

type Coordinates = { latitude: number; longitude: number }

/** Infinitely far where nobody knows where one of them is. */
function metresBetween({ latitude, longitude }: Pick<Candidate, 'latitude' | 'longitude'>, to: Coordinates): number {
  if (latitude === null || longitude === null) return Number.POSITIVE_INFINITY
  const from = { latitude, longitude }
  const radians = Math.PI / 180
  const sine = (degrees: number) => Math.sin((degrees * radians) / 2) ** 2
  const a =
    sine(to.latitude - from.latitude) +
    Math.cos(from.latitude * radians) * Math.cos(to.latitude * radians) * sine(to.longitude - from.longitude)
  return 2 * 6_371_000 * Math.asin(Math.sqrt(Math.min(1, a)))
}
