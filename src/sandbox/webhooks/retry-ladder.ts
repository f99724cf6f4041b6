const minuteMs = 60_000

/** Milliseconds from each failed attempt to the next: six attempts in all, over about eight and a half hours. */
const ladderMs: readonly number[] = [1, 5, 30, 120, 360].map((minutes) => minutes * minuteMs)

/**
 * What becomes of a delivery after an attempt. `nextAttemptAt`, in milliseconds since 1970, only while it is queued.
 */
export type AfterAttempt =
  | { status: 'delivered' | 'failed'; nextAttemptAt: null }
  | { status: 'queued'; nextAttemptAt: number }

/**
 * Decides what becomes of a delivery after an attempt that ended at `now`. Pure.
 * A test delivery has one attempt: who pressed the button looks at its result and presses again. Spec gap: whether it
 * climbs the ladder is not shown, docs/spec-gaps.md.
 * @param attempted attempts of the ladder, this one included.
 */
export function afterAttempt(attempt: {
  succeeded: boolean
  attempted: number
  isTest: boolean
  now: number
}): AfterAttempt {
  if (attempt.succeeded) return { status: 'delivered', nextAttemptAt: null }
  const waitMs = attempt.isTest ? undefined : ladderMs[attempt.attempted - 1]
  if (waitMs === undefined) return { status: 'failed', nextAttemptAt: null }
  return { status: 'queued', nextAttemptAt: attempt.now + waitMs }
}
