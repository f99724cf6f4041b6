/**
 * When something is looked at again: every delay between two looks, and how long is long enough to give up. All pure,
 * in milliseconds. A webhook needs nothing but a look that comes earlier: looks that come early or twice are harmless.
 */

/** Polls before the interval has grown to its full length. */
const growing = 3

/**
 * Until a task is polled again, after so many polls of it: an eighth of the interval at first, then twice as much each
 * time, and the whole interval from then on. Most tasks end soon, and a wave waits for the last of them; a long one
 * costs three polls more. Specification: What the service does, which forbids tight loops.
 */
export function pollInMs(intervalMs: number, polls: number): number {
  return polls >= growing ? intervalMs : Math.ceil(intervalMs / 2 ** (growing - polls))
}

/**
 * Until a call is made again that has failed so many times in a row: doubling from a second to a minute, and never
 * before the service wants it (Retry-After).
 */
export function retryInMs(failures: number, askedMs: number | null): number {
  return Math.max(askedMs ?? 0, Math.min(500 * 2 ** Math.min(failures, 10), 60_000))
}

/**
 * Until a message is sent again that a receiver did not take, after so many attempts: doubling from 30 s to an hour.
 */
export function tellAgainInMs(attempts: number): number {
  return Math.min(30_000 * 2 ** Math.min(attempts - 1, 10), 3_600_000)
}

/** Until the task list is read for a request whose answer was lost: a task, if there is one, is listed at once. */
export function firstListInMs(askedMs: number | null): number {
  return Math.max(500, askedMs ?? 0)
}

/** What the task list says of a request whose answer was lost, and for how long it has been so. */
type Uncertainty = {
  /** Whether a listed task that has not ended may be the one of this request. */
  mayRun: boolean
  /** Whether the list reaches back to the attempt, so that a task that it lacks does not exist. */
  reachesBack: boolean
  attemptedMsAgo: number
  /** From when the answer was lost, not from the attempt: a service that was slow to answer is slow to list a task. */
  lostMsAgo: number
}

/**
 * Until a request whose answer was lost may be sent again, as far as is known; 0: now.
 * Specification: Rules of processing 4.
 */
export function resendInMs(
  { mayRun, reachesBack, attemptedMsAgo, lostMsAgo }: Uncertainty,
  settings: { pollIntervalMs: number; uncertainGraceMs: number; unlistedGraceMs: number },
): number {
  const mayBeUnseen = !reachesBack && attemptedMsAgo < settings.unlistedGraceMs
  return mayRun || mayBeUnseen ? settings.pollIntervalMs : Math.max(0, settings.uncertainGraceMs - lostMsAgo)
}

/** Whether something has gone on for as long as anybody waits for it. */
export function hasLasted(since: Date, now: Date, patienceMs: number): boolean {
  return now.getTime() - since.getTime() >= patienceMs
}
