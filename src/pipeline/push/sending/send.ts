import { setTimeout as delay } from 'node:timers/promises'
import { storableText } from '../../../db/storable.ts'
import type { Submission } from '../../../db/tables/submission.ts'
import { HttpError, KeyDenied, keyAdvice, TransportError, UncertainSubmission } from '../../../exchange/errors.ts'
import { judgePostAnswer } from '../../../exchange/submit-outcome.ts'
import type { Deps } from '../../deps.ts'
import { StopRun } from '../../stop-run.ts'
import { firstListInMs, pollInMs } from '../../when-to-look.ts'
import { callFailed, callSucceeded, retryAfterOf } from '../call-failed.ts'
import { requestOf } from '../kinds.ts'
import { moveSubmission } from '../move-submission.ts'
import { settleRefused } from '../outcomes/settle.ts'
import { learnSize } from '../waves/learn-size.ts'
import { beginSending } from './begin-sending.ts'

/**
 * Sends a planned submission: the intent is committed before the POST, the correlation id right after it.
 * Specification: What the service does.
 *
 * @param lockLost aborts when the submission's lock is lost: another process may take it up, so the POST must not go
 * on.
 */
export async function send(deps: Deps, submission: Submission, lockLost: AbortSignal): Promise<void> {
  const body = await beginSending(deps, submission)
  if (body === null) return
  let correlationId: string
  try {
    correlationId = (await deps.exchange.submit(requestOf(deps.contract, submission.kind).endpoint, body, lockLost))
      .correlationId
  } catch (error) {
    await sendFailed(deps, submission, error)
    return
  }
  await storeCorrelationId(deps, submission, correlationId)
  deps.logger.info(
    { run_id: submission.run_id, submission_id: submission.submission_id, correlation_id: correlationId },
    'submission_accepted',
  )
}

/**
 * A correlation id that we have and do not store would make the submission uncertain for no reason, so a database
 * that hiccups is asked again a few times. Beyond that the look fails, and the submission is found in `sending`.
 */
async function storeCorrelationId(deps: Deps, submission: Submission, correlationId: string): Promise<void> {
  const attempts = 5
  for (let attempt = 1; ; attempt++) {
    try {
      await deps.db.transaction().execute(async (trx) => {
        const patch = { ...callSucceeded, correlation_id: correlationId, accepted_at: deps.now() }
        const moved = await moveSubmission(trx, submission.submission_id, 'accepted', patch)
        if (moved !== null) {
          const inMs = pollInMs(deps.config.exchange.pollIntervalMs, 0)
          await deps.looks.atSubmissions(trx, [submission.submission_id], inMs)
        }
      })
      return
    } catch (error) {
      if (attempt === attempts) throw error
      await delay(200 * attempt)
    }
  }
}

async function sendFailed(deps: Deps, submission: Submission, error: unknown): Promise<void> {
  const id = submission.submission_id
  if (error instanceof UncertainSubmission) {
    deps.logger.warn({ run_id: submission.run_id, submission_id: id, reason: error.message }, 'submission_uncertain')
    await becomeUncertain(deps, submission, error, retryAfterOf(error))
    await deps.db.transaction().execute((trx) => learnSize(deps, trx, submission, 'answer_lost'))
    return
  }
  const declined = error instanceof HttpError && judgePostAnswer(error) === 'declined'
  if (error instanceof TransportError || declined) {
    await deps.db.transaction().execute((trx) => moveSubmission(trx, id, 'not_sent'))
    if (declined && error.status === 401) throw unauthorized(error)
    await callFailed(deps, submission, error)
    return
  }
  if (error instanceof HttpError) {
    await settleRefused(deps, submission, error)
    return
  }
  throw error
}

/**
 * Marks a submission whose POST has no answer, and comes back once a task of it would be listed, or once the service
 * wants to be asked again.
 */
export async function becomeUncertain(
  deps: Deps,
  submission: Submission,
  reason: { code: string; message: string },
  retryAfterMs: number | null = null,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    await moveSubmission(trx, submission.submission_id, 'answer_lost', {
      uncertain_since: deps.now(),
      error_code: reason.code,
      error_message: storableText(reason.message),
      failing_since: submission.failing_since ?? deps.now(),
    })
    await deps.looks.atSubmissions(trx, [submission.submission_id], firstListInMs(retryAfterMs))
  })
}

/** A key that the service does not know stops everything at once: no other call will fare better. */
export function unauthorized(error: HttpError): StopRun {
  const { code, message } = error
  return new StopRun(code, error instanceof KeyDenied ? message : `${message}. ${keyAdvice}`)
}
