/** Polls before the interval has grown to its full length. */
const growing = 3

/**
 * Milliseconds until a task is polled again, after so many polls of it: an eighth of the interval at first, then twice as
 * much each time, and the whole interval from then on. Most tasks end soon, and a wave waits for the last of them; a long
 * one costs three polls more. Specification: What the service does, which forbids tight loops. Pure.
 */
export function pollDelayMs(intervalMs: number, polls: number): number {
  return polls >= growing ? intervalMs : Math.ceil(intervalMs / 2 ** (growing - polls))
}
