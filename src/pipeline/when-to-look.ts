/**
 * When something is looked at again: every delay between two looks, and how long is long enough to give up. All pure,
 * in milliseconds. A webhook is nothing but a look that comes earlier: looks that come early or twice are harmless.
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

/** How the newest tasks that ended were told of by webhooks; what ended a moment ago and may yet be is not counted. */
export type ToldTasks = { onTime: number; late: number; lost: number }

/**
 * How much later than a poll a webhook may come and be on time: the service delivers about once a minute, and tries
 * again a minute after its first failure. Shorter calls good webhooks late; longer leaves tasks to them that they lose.
 */
export const toldLateAfterMs = 150_000

/** So many of the newest tasks are judged. */
export const toldTasksJudged = 20

/** Fewer say nothing. */
const fewestTold = 5

/**
 * Whether webhooks are on time, so that polls need not come often: of the newest tasks at most one in twenty was told
 * of late or not at all. While there are fewer than twenty, none.
 */
export function areWebhooksOnTime({ onTime, late, lost }: ToldTasks): boolean {
  const all = onTime + late + lost
  return all >= fewestTold && (late + lost) * toldTasksJudged <= all
}

/**
 * The same as `pollInMs` while webhooks are on time: the first polls come as ever, because most tasks end before a
 * webhook could come; the interval after them is stretched.
 * @param told a webhook said that the task has ended, and the service did not confirm it: it may do so any moment.
 */
export function stretchedPollInMs(
  settings: { intervalMs: number; stretch: number; longestMs: number },
  polls: number,
  { onTime, told }: { onTime: boolean; told: boolean },
): number {
  const { intervalMs, stretch, longestMs } = settings
  if (polls < growing || !onTime || told) return pollInMs(intervalMs, polls)
  return Math.max(intervalMs, Math.min(Math.ceil(intervalMs * stretch), longestMs))
}

/** What is known of the task that an event names. */
type NamedTask =
  /** A request of ours became it. `ended`: its end is stored, or nobody waits for it. `running`: its run is. */
  | { ours: true; ended: boolean; running: boolean }
  /** No request of ours did so far. `mayBe`: the answer to one is on its way or lost, so it may yet turn out. */
  | { ours: false; mayBe: boolean }

/**
 * What an event about a task is good for: a look at once, if it tells of an end that we have not seen. Nothing that it
 * says is believed: the task endpoint is the truth (specification, Envelope).
 */
export function useOfEvent(
  ends: boolean,
  task: NamedTask,
): 'look' | 'in_flight' | 'ended' | 'run_over' | 'not_ours' | 'wait' {
  if (!task.ours) return task.mayBe ? 'wait' : 'not_ours'
  if (task.ended) return 'ended'
  if (!ends) return 'in_flight'
  return task.running ? 'look' : 'run_over'
}

/**
 * Until a call is made again that has failed so many times in a row: doubling from a second to a minute, and never
 * before the service wants it (Retry-After).
 */
export function retryInMs(failures: number, askedMs: number | null): number {
  return Math.max(askedMs ?? 0, Math.min(500 * 2 ** Math.min(failures, 10), longestPauseMs))
}

/** The longest pause before something that failed is tried again, unless the service wants more. */
export const longestPauseMs = 60_000

/**
 * How often what fails is tried again before it is given up: pauses double from a second to the longest, then one a
 * minute, for as long as the configuration tolerates.
 */
export function retriesWithin(giveUpAfterMs: number): number {
  return 6 + Math.ceil(giveUpAfterMs / longestPauseMs)
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

/**
 * How often in a row the service must deny what it is asked for, each time a poll's interval after the last, before it
 * counts as unknown to it: a replica may lag behind its own answer.
 */
export const denialsBeforeLost = 3

type Denials = { times: number; at: Date }

/**
 * Counts one more denial. One that comes sooner than a poll's interval after the last that counted is the same one
 * still: looks come early when a process starts, or a person asks.
 */
export function oneMoreDenial(before: Denials | null, now: Date, pollIntervalMs: number): Denials {
  if (before !== null && now >= before.at && !hasLasted(before.at, now, pollIntervalMs)) return before
  return { times: (before?.times ?? 0) + 1, at: now }
}

/** Whether something has gone on for as long as anybody waits for it. */
export function hasLasted(since: Date, now: Date, patienceMs: number): boolean {
  return now.getTime() - since.getTime() >= patienceMs
}
