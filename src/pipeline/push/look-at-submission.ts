import type { Transaction } from 'kysely'
import { storableJson, storableText } from '../../db/copy-text.ts'
import { releaseUnsent } from '../../db/ledger/settle-outcomes.ts'
import { earlierPart } from '../../db/ledger/split-submission.ts'
import { withSubmissionLock } from '../../db/locks/advisory-lock.ts'
import { storeApiKeyId } from '../../db/service-key/service-key.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Submission } from '../../db/tables/submission-tables.ts'
import { webhookTrust } from '../../db/webhooks/webhook-records.ts'
import { AnswerFormatError, HttpError, saysUnknown } from '../../exchange/errors.ts'
import type { Task } from '../../exchange/task.ts'
import type { Deps } from '../deps.ts'
import { searchKinds } from '../streams/kind-names.ts'
import { pollInMs, stretchedPollInMs } from '../when-to-look.ts'
import {
  becomeOverdue,
  callDenied,
  callFailed,
  callSucceeded,
  endUnreadable,
  hasBecomeOverdue,
  logOverdue,
  moveSubmission,
  overdueCode,
  updateAsRead,
} from './move-submission.ts'
import { settle } from './outcomes/settle.ts'
import { settleLost } from './outcomes/settle-refused.ts'
import { dateWaits, resolveUncertain } from './sending/resolve-uncertain.ts'
import { becomeUncertain, send, unauthorized } from './sending/send.ts'

/**
 * Looks at one submission and does what its state asks for. Safe at any time and any number of times: the look
 * holds the submission's lock, and a step that was done is not done again.
 *
 * @param timer of a look that was put off: it is void once another was, so that polls do not multiply.
 * @returns false when another look holds the lock, so that nothing was done.
 */
export async function lookAtSubmission(deps: Deps, submissionId: number, timer?: number): Promise<boolean> {
  return await withSubmissionLock(deps.pool, submissionId, async (lockLost) => {
    const submission = await deps.db
      .selectFrom('submission')
      .innerJoin('run', 'run.run_id', 'submission.run_id')
      .selectAll('submission')
      .where('submission_id', '=', submissionId)
      .where('run.state', '=', 'running')
      .executeTakeFirst()
    if (submission === undefined || (timer !== undefined && timer !== submission.timer)) return
    await act(deps, await dateWaits(deps, submission), lockLost)
  })
}

async function act(deps: Deps, submission: Submission, lockLost: AbortSignal): Promise<void> {
  const { state } = submission
  switch (state) {
    case 'planned':
      return plannedOrPart(deps, submission, lockLost)
    case 'sending':
      // We have the lock, so the one that sent it is gone, and the answer with it.
      return becomeUncertain(deps, submission, {
        code: 'submission_uncertain',
        message: 'the process that sent it ended before the answer was stored',
      })
    case 'uncertain':
      return resolveUncertain(deps, submission)
    case 'accepted':
      if (submission.correlation_id !== null && (await poll(deps, submission, submission.correlation_id))) {
        await settle(deps, submission.submission_id)
      }
      return
    case 'terminal':
      return settle(deps, submission.submission_id)
    case 'settled':
    case 'refused':
    case 'lost':
    case 'abandoned':
      return
    default:
      return state satisfies never
  }
}

/**
 * Sends a planned submission. A part of a split request waits for an earlier one that writes to the same company: its
 * end asks for the next look, and the delay is for when it cannot. Where that one is overdue, the part is given up
 * unsent: its rows are planned afresh once nothing of their company is in flight.
 */
async function plannedOrPart(deps: Deps, submission: Submission, lockLost: AbortSignal): Promise<void> {
  const { submission_id: id, run_id } = submission
  const earlier = await earlierPart(deps.db, submission)
  if (earlier === 'none') return send(deps, submission, lockLost)
  await deps.db.transaction().execute(async (trx) => {
    // One that was sent before may be at the service: it waits as well, with its rows.
    const keeps = submission.uncertain_since !== null
    if (earlier === 'overdue' && keeps && submission.overdue_since === null) await becomeOverdue(deps, trx, submission)
    if (earlier === 'writes' || keeps) {
      return deps.looks.atSubmissions(trx, [id], deps.config.exchange.pollIntervalMs)
    }
    if ((await moveSubmission(trx, submission, 'abandoned', { settled_at: deps.now() })) === null) return
    await releaseUnsent(trx, id)
    await deps.looks.atRun(trx, run_id)
  })
}

/**
 * Asks for the task once. In flight: come back after the poll interval. Terminal: store the task as it
 * came. A poll that fails changes no outcome. Specification: What the service does, Task statuses.
 *
 * @returns true when the task is terminal and stored.
 */
async function poll(deps: Deps, submission: Submission, correlationId: string): Promise<boolean> {
  let task: Task
  try {
    task = await deps.exchange.getTask(correlationId)
  } catch (error) {
    await pollFailed(deps, submission, error as Error & { code: string })
    return false
  }
  const newlyUnknown = !task.known && submission.unknown_status === null
  const overdue = task.phase === 'in_flight' && hasBecomeOverdue(deps, submission, submission.accepted_at)
  const polled = {
    // That it does not end stays the last word on one that is overdue.
    ...(submission.error_code === overdueCode ? { failures: 0, failing_since: null } : callSucceeded),
    ...(newlyUnknown && { unknown_status: storableText(task.status) }),
    task_status: storableText(task.status),
    polled_at: deps.now(),
    polls: submission.polls + 1,
  }
  const written = await deps.db.transaction().execute(async (trx) => {
    if (task.phase === 'terminal') {
      const patch = { ...polled, ...callSucceeded, terminal_at: deps.now(), task: storableJson(task.raw) }
      return (await moveSubmission(trx, submission, 'task_terminal', patch)) !== null
    }
    if (!(await updateAsRead(trx, submission, polled))) return false
    if (overdue) await becomeOverdue(deps, trx, submission)
    const inMs = await nextPollInMs(deps, trx, submission.submission_id, polled.polls)
    await deps.looks.atSubmissions(trx, [submission.submission_id], inMs)
    return true
  })
  if (
    task.apiKeyId !== null &&
    submission.key_fingerprint !== null &&
    submission.polls === 0 &&
    submission.attempted_at !== null &&
    !(await wasAdopted(deps, submission))
  ) {
    await storeApiKeyId(deps.db, submission.key_fingerprint, storableText(task.apiKeyId))
  }
  if (newlyUnknown) warnOfStatus(deps, submission, task)
  if (overdue && written) logOverdue(deps, submission, task.status)
  return written && task.phase === 'terminal'
}

/**
 * Whether it was a person, and not the answer to its POST, who said which task it is. That may be a task of another
 * key, and what comes of it must not be taken for what the service calls ours.
 */
async function wasAdopted({ db }: Deps, { submission_id }: Submission): Promise<boolean> {
  const adopted = await db
    .selectFrom('action')
    .select('action_id')
    .where('submission_id', '=', submission_id)
    .where('verb', '=', 'adopt')
    .limit(1)
    .executeTakeFirst()
  return adopted !== undefined
}

/** Once for a submission: what the contract does not name counts as in flight, and may stay so for ever. */
function warnOfStatus({ logger }: Deps, { run_id, submission_id }: Submission, task: Task): void {
  const about = { run_id, submission_id, correlation_id: task.correlationId, status: task.status }
  logger.warn({ ...about, code: 'task_status_unknown' }, 'task_status_unknown')
}

async function pollFailed(deps: Deps, submission: Submission, error: Error & { code: string }): Promise<void> {
  if (error instanceof HttpError && error.status === 401) throw unauthorized(error)
  // A search whose pages nobody could read has not found nothing.
  const tooLong = error instanceof AnswerFormatError && error.tooLong && !searchKinds.includes(submission.kind)
  if (tooLong && (await endUnreadable(deps, submission, error))) return
  const unreadable = error instanceof AnswerFormatError && error.tooLong
  if (saysUnknown(error)) {
    if (await callDenied(deps, submission, error)) await settleLost(deps, submission, error)
    return
  }
  await callFailed(
    deps,
    submission,
    unreadable ? { code: error.code, message: tooLongAdvice(submission, error) } : error,
  )
}

/** Whether it has ended cannot be read either: without a larger limit every run would end here. */
function tooLongAdvice({ submission_id, correlation_id }: Submission, { message }: Error): string {
  return `${message}. Raise exchange.maxAnswerBytes, or give it up: nightferry abandon ${submission_id} (task ${correlation_id})`
}

/** Milliseconds until a task is polled again: later while webhooks are on time, which then bring the look. */
async function nextPollInMs(
  { config }: Pick<Deps, 'config'>,
  trx: Transaction<Schema>,
  submissionId: number,
  polls: number,
): Promise<number> {
  const { pollIntervalMs: intervalMs } = config.exchange
  const { secrets, pollStretch: stretch, maxPollIntervalMs: longestMs } = config.webhooks
  if (secrets.length === 0 || stretch === 1) return pollInMs(intervalMs, polls)
  return stretchedPollInMs({ intervalMs, stretch, longestMs }, polls, await webhookTrust(trx, submissionId))
}
