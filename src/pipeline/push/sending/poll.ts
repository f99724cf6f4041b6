import type { Transaction } from 'kysely'
import { storeApiKeyId } from '../../../db/service-key/key-in-use.ts'
import { storableJson, storableText } from '../../../db/storable.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Submission } from '../../../db/tables/submission.ts'
import { webhookTrust } from '../../../db/webhooks/receiver-standing.ts'
import { AnswerFormatError, HttpError } from '../../../exchange/errors.ts'
import type { Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { searchKinds } from '../../streams/kind-names.ts'
import { pollInMs, stretchedPollInMs } from '../../when-to-look.ts'
import { callFailed, callSucceeded } from '../call-failed.ts'
import { moveSubmission } from '../move-submission.ts'
import { endUnreadable } from '../outcomes/end-unreadable.ts'
import { settleLost } from '../outcomes/settle.ts'
import { becomeOverdue, hasBecomeOverdue, logOverdue } from './overdue.ts'
import { unauthorized } from './send.ts'

/**
 * How often in a row the service must deny a task before it counts as lost: a replica may lag behind its own answer.
 */
const denialsBeforeLost = 3

/**
 * Asks for the task once. In flight: come back after the poll interval. Terminal: store the task as it
 * came. A poll that fails changes no outcome. Specification: What the service does, Task statuses.
 *
 * @returns true when the task is terminal and stored.
 */
export async function poll(deps: Deps, submission: Submission, correlationId: string): Promise<boolean> {
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
    // That it is overdue stays the last word on one that is.
    ...(submission.overdue_since === null ? callSucceeded : { failures: 0, failing_since: null }),
    ...(newlyUnknown && { unknown_status: storableText(task.status) }),
    task_status: storableText(task.status),
    polled_at: deps.now(),
    polls: submission.polls + 1,
  }
  await deps.db.transaction().execute(async (trx) => {
    if (task.phase === 'terminal') {
      const patch = { ...polled, ...callSucceeded, terminal_at: deps.now(), task: storableJson(task.raw) }
      await moveSubmission(trx, submission.submission_id, 'task_terminal', patch)
      return
    }
    await trx.updateTable('submission').set(polled).where('submission_id', '=', submission.submission_id).execute()
    if (overdue) await becomeOverdue(deps, trx, submission)
    const inMs = await nextPollInMs(deps, trx, submission.submission_id, polled.polls)
    await deps.looks.atSubmissions(trx, [submission.submission_id], inMs)
  })
  if (task.apiKeyId !== null && submission.key_fingerprint !== null && submission.polls === 0) {
    await storeApiKeyId(deps.db, submission.key_fingerprint, storableText(task.apiKeyId))
  }
  if (newlyUnknown) warnOfStatus(deps, submission, task)
  if (overdue) logOverdue(deps, submission, task.status)
  return task.phase === 'terminal'
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
  const denied = error instanceof HttpError && error.code === 'exchange_not_found'
  const denials = submission.error_code === error.code ? submission.failures + 1 : 1
  if (denied && denials >= denialsBeforeLost) {
    await settleLost(deps, submission, error)
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
