import type { Dispatcher } from 'undici'
import { headerText } from './read-answer.ts'

/** The service's clock minus ours, in milliseconds: it lies between the two. */
export type ClockSkew = { lowMs: number; highMs: number }

/** `Date` has whole seconds: the moment that it names lies within the second that begins then. */
const resolutionMs = 1_000

/**
 * What an answer's `Date` says about the service's clock. Pure. It was written at some moment between the request and
 * the answer, so the longer an answer took the less it says. Null where it says nothing: no date, or an answer from a
 * cache.
 */
export function clockSkew(
  headers: Dispatcher.ResponseData['headers'],
  sentMs: number,
  answeredMs: number,
): ClockSkew | null {
  const at = serviceMoment(headers)
  if (at === null || headers.age !== undefined || answeredMs < sentMs) return null
  return { lowMs: at - answeredMs, highMs: at + resolutionMs - sentMs }
}

/** When the service says that it answered, in milliseconds since 1970; null where it does not say. Pure. */
export function serviceMoment(headers: Dispatcher.ResponseData['headers']): number | null {
  const at = Date.parse(headerText(headers.date) ?? '')
  return Number.isNaN(at) ? null : at
}

/** An answer that was this slow tells too little beside what quicker ones told, in milliseconds. */
const tellingMs = 10_000

/** The skew to go on with after another measurement. Pure. The newest counts, because clocks are set. */
export function newerSkew(before: ClockSkew | null, measured: ClockSkew | null): ClockSkew | null {
  if (measured === null) return before
  return before !== null && measured.highMs - measured.lowMs > tellingMs ? before : measured
}
