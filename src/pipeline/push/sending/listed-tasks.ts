import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { ListedTasks } from '../../../db/tables/submission-tables.ts'
import type { ClockSkew } from '../../../exchange/read-answer.ts'
import { type Task, taskKey, taskSpellings } from '../../../exchange/task.ts'

/**
 * How far the clock that stamps tasks may be from the one that the service's answers show, in milliseconds: they need
 * not be the same machine's. Too little could overlook our own task.
 */
const clockSkewMs = 300_000

/** Taken for how far the service's clock is from ours while no answer has said so, in milliseconds. */
const unmeasuredSkewMs = 3_600_000

/**
 * Spec gap: how many tasks the list returns is not shown (docs/spec-gaps.md). Only where the service has taken nothing
 * of ours for a day is a list with fewer taken to be all that there are: then it cannot show a task that we know. Too
 * high a number overlooks that a task has scrolled out, too low a one stops a first run for nothing.
 */
const shortestFullList = 10

/** Tasks of a list that are remembered: one of them in the next reading proves that nothing was missed. */
const remembered = 200

/**
 * The earliest that the service can have stamped a task of an attempt of ours, by its own clock. Pure. Its clock may
 * have been set since the attempt, so of what was measured then and now the lower counts. One that is ahead is not
 * believed: what stamps tasks may not be what dates the answers, and the error on this side costs no more than waiting.
 */
export function earliestStamp(attemptedAt: Date, skewAtAttempt: number | null, skewNow: ClockSkew | null): Date {
  const measured = [skewAtAttempt, skewNow?.lowMs ?? null].filter((ms) => ms !== null)
  const lowest = measured.length === 0 ? -unmeasuredSkewMs : Math.min(0, ...measured)
  return new Date(attemptedAt.getTime() + lowest - clockSkewMs)
}

/**
 * The latest that the service can have stamped a task of an attempt of ours, by its own clock. Pure. A request may
 * reach it after its answer was given up, but no later than a task may stay unlisted. Of what was measured of its clock
 * the highest counts: too early a moment would overlook our own task, one that is too late costs no more than waiting.
 * @param lostAt when the answer was found to be lost.
 * @param graceMs `push.unlistedGraceMs`.
 */
export function latestStamp(
  lostAt: Date,
  skewAtAttempt: number | null,
  skewNow: ClockSkew | null,
  graceMs: number,
): Date {
  const measured = [skewAtAttempt, skewNow?.highMs ?? null].filter((ms) => ms !== null)
  const highest = skewNow === null ? Math.max(unmeasuredSkewMs, ...measured) : Math.max(0, ...measured)
  return new Date(lostAt.getTime() + highest + clockSkewMs + graceMs)
}

type Reading = {
  tasks: readonly Pick<Task, 'correlationId' | 'createdAt'>[]
  /** Those that may be the submission's and have not ended. */
  unfinished: readonly string[]
  /** Tasks that are known to be of submissions accepted before this one was sent. */
  ownEarlier: ReadonlySet<string>
  /** Whether any task is known to be of a submission accepted in the day before this one was sent, listed or not. */
  knowsEarlier: boolean
  /** What was stamped earlier was there before the attempt: `earliestStamp`. */
  earliest: Date
}

/**
 * What is known of the task list once it was read again for a submission whose answer was lost. Pure.
 *
 * The list shows the newest tasks only, so the submission's may have scrolled out of it. It has not if the list holds
 * something from before the attempt (a task that we know, or one that was surely stamped earlier), or if every reading
 * since shows a task of the one before. How many tasks are listed proves nothing; that there are more than the time
 * before proves that nothing had been cut off then.
 */
export function afterReading(before: ListedTasks | null, reading: Reading): ListedTasks {
  const { tasks, unfinished, ownEarlier, knowsEarlier, earliest } = reading
  const seenBefore = new Set(before?.newest)
  const reachesBack =
    (!knowsEarlier && tasks.length < shortestFullList) ||
    tasks.some(
      ({ correlationId, createdAt }) =>
        ownEarlier.has(correlationId) || (createdAt !== null && createdAt.getTime() < earliest.getTime()),
    )
  const wasWhole = before?.unbroken === true || tasks.length > (before?.length ?? tasks.length)
  const goesOn = wasWhole && tasks.some(({ correlationId }) => seenBefore.has(correlationId))
  return {
    candidates: [...unfinished],
    length: tasks.length,
    newest: tasks.slice(0, remembered).map(({ correlationId }) => correlationId),
    unbroken: reachesBack || goesOn,
  }
}

/** A task that became of a request of ours: its id in the spelling that was asked for, and when the answer named it. */
export type Owner = { correlation_id: string; accepted_at: Date | null }

/** Which of these tasks are known to be of our submissions, in whatever spelling. */
export async function ownersOf(db: Database, correlationIds: readonly string[]): Promise<Owner[]> {
  // One parameter, however long the list: a statement takes 65,535. An id that Postgres cannot store is not ours.
  const ids = correlationIds.filter((id) => !id.includes('\0') && id.isWellFormed())
  if (ids.length === 0) return []
  const { rows } = await sql<Owner>`
    select correlation_id, accepted_at from submission
    where correlation_id = any(${ids.flatMap(taskSpellings)}::text[])`.execute(db)
  const known = new Map(rows.map(({ correlation_id, accepted_at }) => [taskKey(correlation_id), accepted_at]))
  return ids.flatMap((id) => {
    const accepted_at = known.get(taskKey(id))
    return accepted_at === undefined ? [] : [{ correlation_id: id, accepted_at }]
  })
}
