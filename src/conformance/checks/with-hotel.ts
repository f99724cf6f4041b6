import { type Bench, needsWriting } from '../bench.ts'
import type { Check } from '../check.ts'
import { findHotel, type Hotel } from '../evidence/hotel.ts'
import { notObserved, type Observation } from '../observation.ts'

/** A check that writes to the one hotel, where that is allowed and the hotel is there. */
export function withHotel(check: (bench: Bench, hotel: Hotel) => Promise<Observation>): Check {
  return async (bench) => {
    if (bench.writing === null) return notObserved(needsWriting)
    const hotel = await findHotel(bench, bench.writing)
    return typeof hotel === 'string' ? notObserved(hotel) : await check(bench, hotel)
  }
}

/** The same for evidence that says in a sentence why it could not be gathered. */
export function withEvidence<T extends object>(
  gather: (bench: Bench, hotel: Hotel) => Promise<T | string>,
  check: (bench: Bench, evidence: T, hotel: Hotel) => Observation | Promise<Observation>,
): Check {
  return withHotel(async (bench, hotel) => {
    const evidence = await gather(bench, hotel)
    return typeof evidence === 'string' ? notObserved(evidence) : await check(bench, evidence, hotel)
  })
}
