import type { ListedTasks } from '../../../db/tables/submission.ts'
import type { Task } from '../../../exchange/task.ts'

/** How far the service's clock may lag behind ours, in milliseconds. Too little could overlook our own task. */
export const clockSkewMs = 300_000

/**
 * Spec gap: how many tasks the list returns is not shown (docs/spec-gaps.md). A list with fewer is taken to be all that
 * there are; too high a number overlooks that a task has scrolled out, too low a one stops a run for nothing.
 */
const shortestFullList = 20

/** Tasks of a list that are remembered: one of them in the next reading proves that nothing was missed. */
const remembered = 200

export type Reading = {
  tasks: readonly Pick<Task, 'correlationId' | 'createdAt'>[]
  /** Those that may be the submission's and have not ended. */
  unfinished: readonly string[]
  /** Tasks that are known to be of submissions accepted before this one was sent. */
  ownEarlier: ReadonlySet<string>
  attemptedAt: Date
}

/**
 * What is known of the task list once it was read again for a submission whose answer was lost. Pure.
 *
 * The list shows the newest tasks only, so the submission's may have scrolled out of it. It has not if the list holds
 * something older than the attempt, or if every reading since shows a task of the one before.
 */
export function afterReading(before: ListedTasks | null, reading: Reading): ListedTasks {
  const { tasks, unfinished, ownEarlier, attemptedAt } = reading
  const earlier = attemptedAt.getTime() - clockSkewMs
  const seenBefore = new Set(before?.newest)
  const reachesBack =
    tasks.length < shortestFullList ||
    tasks.some(
      ({ correlationId, createdAt }) =>
        ownEarlier.has(correlationId) || (createdAt !== null && createdAt.getTime() <= earlier),
    )
  const goesOn = before?.unbroken === true && tasks.some(({ correlationId }) => seenBefore.has(correlationId))
  return {
    candidates: [...unfinished],
    newest: tasks.slice(0, remembered).map(({ correlationId }) => correlationId),
    unbroken: reachesBack || goesOn,
  }
}
