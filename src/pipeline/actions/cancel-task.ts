import { type Actor, recordAction, recordResult } from '../../db/actions/record-action.ts'
import { storableText } from '../../db/copy-text.ts'
import type { Submission } from '../../db/tables/submission-tables.ts'
import { HttpError } from '../../exchange/errors.ts'
import { ActionRefused, type Deps } from '../deps.ts'
import { lockSubmission } from './lock-submission.ts'

type CancelAnswer = {
  submission_id: number
  kind: string
  correlation_id: string
  rows: number
  /** False: the service did not cancel it, for processing has begun. */
  cancelled: boolean
  /** The service's answer where it did not. */
  said: string | null
}

/** What the service answers about a task whose processing has begun: an assumption, docs/spec-gaps.md, `cancelTask`. */
const conflict = 409

/**
 * Asks the service to cancel a submission's task, which it does while processing has not begun. What became of the
 * rows is read from the task as ever; a look at it is asked for.
 *
 * @throws {ActionRefused} `submission_state` when there is no task that could be cancelled.
 * @throws {HttpError} {TransportError} when the service did not do it for another reason, or nobody knows.
 */
export async function cancelTask(deps: Deps, submissionId: number, actor: Actor): Promise<CancelAnswer> {
  return await lockSubmission(deps, submissionId, async (submission) => {
    const { kind, row_count: rows } = submission
    const correlationId = taskOf(submission)
    // Written down before the service is asked: what it is asked is done even if its answer never comes.
    const actionId = await deps.db
      .transaction()
      .execute((trx) => recordAction(trx, { verb: 'cancel', actor, at: deps.now(), submissionId, correlationId, rows }))
    const said = await answerTo(
      () => deps.exchange.cancelTask(correlationId),
      async (result) => {
        await recordResult(deps.db, actionId, storableText(result))
      },
    )
    await deps.db.transaction().execute((trx) => deps.looks.atSubmissions(trx, [submissionId]))
    deps.logger.warn({ submission_id: submissionId, correlation_id: correlationId, said }, 'task_cancel_asked')
    return { submission_id: submissionId, kind, correlation_id: correlationId, rows, cancelled: said === null, said }
  })
}

/** Null when it was cancelled, the service's words when it cannot be any more. */
async function answerTo(ask: () => Promise<void>, record: (result: string) => Promise<void>): Promise<string | null> {
  try {
    await ask()
  } catch (error) {
    const { message } = error as Error
    await record(`not cancelled: ${message}`)
    if (error instanceof HttpError && error.status === conflict) return message
    throw error
  }
  await record('cancelled')
  return null
}

function taskOf({ submission_id, state, correlation_id }: Submission): string {
  if (state === 'accepted' && correlation_id !== null) return correlation_id
  const why = {
    planned: 'waits to be sent, so there is no task to cancel. nightferry abandon gives it up',
    sending: 'is being sent; its task is not known yet',
    uncertain:
      'has no task that is known to be its own. nightferry adopt says which it is, nightferry abandon gives it up',
    accepted: 'has no correlation id',
    terminal: 'has a task that has ended',
    settled: 'has a task that has ended, and is settled',
    refused: 'was refused, and has no task',
    lost: 'has a task that the service no longer knows',
    abandoned: 'was given up',
  }[state]
  throw new ActionRefused('submission_state', `Submission ${submission_id} ${why}`)
}
