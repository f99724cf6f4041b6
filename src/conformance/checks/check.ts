import { type Bench, needsWriting } from '../bench.ts'
import { findHotel, type Hotel } from '../evidence/hotel.ts'
import { webhooks } from '../evidence/webhook-set-up.ts'
import { notObserved, type Observation } from '../observation.ts'
import type { EntryId } from '../outline.ts'

/** Looks whether one statement of the specification holds. What it throws counts as a difference. */
export type Check = (bench: Bench) => Observation | Promise<Observation>

/** A check for each statement whose id begins with one of these words. */
export type Checks<Chapter extends string> = Readonly<Record<Extract<EntryId, `${Chapter}/${string}`>, Check>>

type Judge<T> = (evidence: T, bench: Bench) => Observation | Promise<Observation>

/** A check of evidence; a sentence in its place says why it could not be gathered. */
export function given<T>(gather: (bench: Bench) => Promise<T | string>, judge: Judge<T>): Check {
  return async (bench) => {
    const evidence = await gather(bench)
    return typeof evidence === 'string' ? notObserved(evidence) : await judge(evidence, bench)
  }
}

/** A check that writes to the one hotel, where that is allowed and the hotel is there. */
export function withHotel(check: (bench: Bench, hotel: Hotel) => Observation | Promise<Observation>): Check {
  const find = async (bench: Bench) => (bench.writing === null ? needsWriting : await findHotel(bench, bench.writing))
  return given(find, (hotel, bench) => check(bench, hotel))
}

/** A check of what was written to it, and of what came of that. */
export function givenHotel<T>(
  write: (bench: Bench, hotel: Hotel) => Promise<T | string>,
  judge: (evidence: T, bench: Bench, hotel: Hotel) => Observation | Promise<Observation>,
): Check {
  return withHotel(async (bench, hotel) => {
    const evidence = await write(bench, hotel)
    return typeof evidence === 'string' ? notObserved(evidence) : await judge(evidence, bench, hotel)
  })
}

/** A check that reads deliveries at our own receiver, where one could be subscribed. */
export function withEvents(check: Check): Check {
  return given(webhooks, (_opened, bench) => check(bench))
}

/** A check of what came to it. */
export function givenEvents<T>(gather: (bench: Bench) => Promise<T | string>, judge: Judge<T>): Check {
  return withEvents(given(gather, judge))
}
