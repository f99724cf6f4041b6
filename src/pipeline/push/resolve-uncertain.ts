import { sql } from 'kysely'
import type { Submission } from '../../db/tables/submission.ts'
import type { Contract } from '../../exchange/contract.ts'
import { HttpError } from '../../exchange/errors.ts'
import type { Task } from '../../exchange/task.ts'
import type { Deps } from '../deps.ts'
import { StopRun } from '../stop-run.ts'
import { callFailed } from './call-failed.ts'
import { requestOf, taskNamesOf } from './kinds.ts'
import { moveSubmission } from './move-submission.ts'
import { unauthorized } from './send.ts'

/** How far the service's clock may lag behind ours, in milliseconds. Too little could overlook our own task. */
export const clockSkewMs = 300_000

/**
 * Decides what becomes of a POST whose answer was lost. While a task that may be ours is unfinished, nothing is
 * sent. Once none is, and enough time has passed for a task to be listed, the same payload goes out again: the
 * requests are upserts, so a second one after the first is harmless, while two at once are not.
 *
 * @throws {StopRun} when answers to its POST go on being lost for as long as the configuration tolerates.
 */
export async function resolveUncertain(deps: Deps, submission: Submission): Promise<void> {
  let tasks: Task[]
  try {
    tasks = await deps.exchange.getTasks()
  } catch (error) {
    if (error instanceof HttpError && error.status === 401) throw unauthorized(error)
    await callFailed(deps, submission, error as Error & { code: string })
    return
  }
  const known = new Set(await correlationIds(deps, tasks))
  // From when the answer was lost, not from the attempt: a service that was slow to answer is slow to list a task.
  const lostAt = submission.uncertain_since ?? deps.now()
  const candidates = tasks.filter(
    (task) => !known.has(task.correlationId) && mayBeOurs(deps.contract, submission, task),
  )
  const waitMs = waitBeforeSending(deps, lostAt, candidates)
  const failingSince = submission.failing_since ?? deps.now()
  if (waitMs <= 0) giveUpOnLostAnswers(deps, submission, failingSince)
  // Only an answer to the POST ends its failing: a list that can be read says nothing about it.
  const listed = { failures: 0, failing_since: failingSince }

  await deps.db.transaction().execute(async (trx) => {
    if (waitMs > 0) {
      await trx.updateTable('submission').set(listed).where('submission_id', '=', submission.submission_id).execute()
      await deps.looks.atSubmissions(trx, [submission.submission_id], waitMs)
      return
    }
    const patch = { ...listed, repeats: submission.repeats + 1 }
    const moved = await moveSubmission(trx, submission.submission_id, 'cleared', patch)
    if (moved !== null) await deps.looks.atSubmissions(trx, [submission.submission_id])
  })
  deps.logger.info(
    {
      run_id: submission.run_id,
      submission_id: submission.submission_id,
      candidates: candidates.map(({ correlationId, status }) => ({ correlation_id: correlationId, status })),
      wait_ms: waitMs,
    },
    waitMs > 0 ? 'submission_still_uncertain' : 'submission_sent_again',
  )
}

/**
 * Whether a listed task may have come from a submission's lost POST: of its request type, or of one we do not know,
 * and not older than the attempt. Pure.
 */
export function mayBeOurs(contract: Contract, submission: Submission, task: Task): boolean {
  const names = requestOf(contract, submission.kind).taskName
  const others = taskNamesOf(contract).filter(({ requestType }) => requestType !== names.requestType)
  if (others.some(({ requestType }) => requestType !== '' && requestType === task.requestType)) return false
  if (task.taskKind !== null && task.requestType === null && task.taskKind !== names.kind) return false
  const attemptedAt = submission.attempted_at ?? submission.planned_at
  return task.createdAt === null || task.createdAt.getTime() >= attemptedAt.getTime() - clockSkewMs
}

/** It was sent again since its first answer was lost, and the answers are lost still: another time will not mend it. */
function giveUpOnLostAnswers({ config, now }: Deps, submission: Submission, failingSince: Date): void {
  const sentAgain = submission.attempted_at !== null && submission.attempted_at > failingSince
  const failingMs = now().getTime() - failingSince.getTime()
  if (!sentAgain || failingMs < config.exchange.giveUpAfterMs) return
  throw new StopRun(
    submission.error_code ?? 'submission_uncertain',
    `${submission.error_message ?? 'The answers to a submission were lost'}. Given up after ${Math.round(failingMs / 1000)} seconds; the next run goes on from here`,
  )
}

function waitBeforeSending(deps: Deps, lostAt: Date, candidates: Task[]): number {
  if (candidates.some(({ phase }) => phase === 'in_flight')) return deps.config.exchange.pollIntervalMs
  const elapsedMs = deps.now().getTime() - lostAt.getTime()
  return Math.max(0, deps.config.push.uncertainGraceMs - elapsedMs)
}

async function correlationIds(deps: Deps, tasks: Task[]): Promise<string[]> {
  // One parameter, however long the list: a statement takes 65,535. What Postgres cannot store is none of ours.
  const ids = tasks.map(({ correlationId }) => correlationId).filter((id) => !id.includes('\0') && id.isWellFormed())
  const { rows } = await sql<{ correlation_id: string }>`
    select correlation_id from submission where correlation_id = any(${ids}::text[])`.execute(deps.db)
  return rows.map(({ correlation_id }) => correlation_id)
}
