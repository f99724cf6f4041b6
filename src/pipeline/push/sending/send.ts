import { setTimeout as delay } from 'node:timers/promises'
import { sql, type Transaction } from 'kysely'
import { storableText } from '../../../db/copy-text.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Submission } from '../../../db/tables/submission-tables.ts'
import type { SizedBody } from '../../../exchange/call-service.ts'
import {
  countedCode,
  HttpError,
  KeyDenied,
  keyAdvice,
  TransportError,
  UncertainSubmission,
} from '../../../exchange/errors.ts'
import { judgePostAnswer } from '../../../exchange/submit-outcome.ts'
import { type Deps, StopRun } from '../../deps.ts'
import { keyFingerprint } from '../../gate/shared-gate.ts'
import { searchKind } from '../../streams/kind-names.ts'
import { firstListInMs, hasLasted, pollInMs } from '../../when-to-look.ts'
import { requestOf } from '../kinds.ts'
import { callFailed, callSucceeded, moveSubmission, serviceAnswers } from '../move-submission.ts'
import { settleRefused } from '../outcomes/settle-refused.ts'
import { learnSize } from '../waves/learn-size.ts'
import { readPayload } from './kept-body.ts'
import { storePayload, wantedOfSearch, writeBody } from './payload.ts'
import { noteUnknownTasks } from './unknown-tasks.ts'

/**
 * Sends a planned submission: the intent is committed before the POST, the correlation id right after it.
 * Specification: What the service does.
 *
 * @param lockLost aborts when the submission's lock is lost: another process may take it up, so the POST must not go
 * on.
 */
export async function send(deps: Deps, submission: Submission, lockLost: AbortSignal): Promise<void> {
  // Asked before the intent is stored: a process that does not know the kind leaves the request as it is.
  const { endpoint } = requestOf(deps.contract, submission.kind)
  await noteUnknownTasks(deps, submission)
  const body = await beginSending(deps, submission)
  if (body === null) return
  const sent = { ...submission, attempts: submission.attempts + 1 }
  let correlationId: string
  try {
    correlationId = (await deps.exchange.submit(endpoint, body, lockLost)).correlationId
  } catch (error) {
    await sendFailed(deps, sent, error)
    return
  }
  const stored = await storeCorrelationId(deps, sent, correlationId)
  const about = { run_id: sent.run_id, submission_id: sent.submission_id, correlation_id: correlationId }
  if (stored) deps.logger.info(about, 'submission_accepted')
  else deps.logger.warn(about, 'submission_answered_too_late')
}

/**
 * A correlation id that we have and do not store would make the submission uncertain for no reason, so a database
 * that hiccups is asked again a few times. Beyond that the look fails, and the submission is found in `sending`.
 *
 * @returns false when another look has gone on without the answer.
 */
async function storeCorrelationId(deps: Deps, submission: Submission, correlationId: string): Promise<boolean> {
  const attempts = 5
  for (let attempt = 1; ; attempt++) {
    try {
      return await deps.db.transaction().execute(async (trx) => {
        const patch = { ...callSucceeded, correlation_id: correlationId, accepted_at: deps.now() }
        const moved = await moveSubmission(trx, submission, 'accepted', patch)
        if (moved === null) return false
        const inMs = pollInMs(deps.config.exchange.pollIntervalMs, 0)
        await deps.looks.atSubmissions(trx, [submission.submission_id], inMs)
        return true
      })
    } catch (error) {
      if (attempt === attempts) throw error
      await delay(200 * attempt)
    }
  }
}

async function sendFailed(deps: Deps, submission: Submission, error: unknown): Promise<void> {
  const id = submission.submission_id
  if (error instanceof UncertainSubmission) {
    const since = submission.answers_lost_since ?? deps.now()
    const until = new Date(since.getTime() + deps.config.exchange.giveUpAfterMs)
    const about = { run_id: submission.run_id, submission_id: id, reason: error.message, since, until }
    deps.logger.warn(about, 'submission_uncertain')
    await becomeUncertain(deps, submission, error, error.cause instanceof HttpError ? error.cause.retryAfterMs : null)
    await deps.db.transaction().execute((trx) => learnSize(deps, trx, submission, 'answer_lost'))
    return
  }
  const declined = error instanceof HttpError && judgePostAnswer(error) === 'declined'
  if (declined && (await leadsNowhere(deps, submission, error))) {
    await settleRefused(deps, submission, error)
    return
  }
  if (error instanceof TransportError || declined) {
    // One that declines has answered.
    const answered = declined ? { answers_lost_since: null } : {}
    const moved = await deps.db.transaction().execute((trx) => moveSubmission(trx, submission, 'not_sent', answered))
    if (declined && error.status === 401) throw unauthorized(error)
    // Otherwise another look has it, whose own calls count.
    if (moved !== null) await callFailed(deps, submission, error)
    return
  }
  if (error instanceof HttpError) {
    await settleRefused(deps, submission, error)
    return
  }
  throw error
}

/**
 * Whether nothing is at the address of a request, for all that the service answers elsewhere: a 404 that is no word of
 * the service has come for as long as calls may fail. A gateway that restarts answers it, too.
 */
async function leadsNowhere(
  { exchange, config, now }: Deps,
  { failures, failing_since, error_code }: Submission,
  error: HttpError,
): Promise<boolean> {
  if (error.status !== 404) return false
  const since = failures > 0 && error_code === countedCode(error) ? failing_since : null
  if (since === null || !hasLasted(since, now(), config.exchange.giveUpAfterMs)) return false
  return await serviceAnswers(exchange)
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
    await moveSubmission(trx, submission, 'answer_lost', {
      uncertain_since: deps.now(),
      error_code: reason.code,
      error_message: storableText(reason.message),
      answers_lost_since: submission.answers_lost_since ?? deps.now(),
    })
    await deps.looks.atSubmissions(trx, [submission.submission_id], firstListInMs(retryAfterMs))
  })
}

/** A key that the service does not know stops everything at once: no other call will fare better. */
export function unauthorized(error: HttpError): StopRun {
  const { code, message } = error
  return new StopRun(code, error instanceof KeyDenied ? message : `${message}. ${keyAdvice}`)
}

/**
 * Stores the exact payload and the intent to send it, before a byte leaves. A second attempt sends the same payload.
 * The hashes of what the payload says of each row are kept beside it: the row may change while it is in flight, and may
 * have changed since it was planned.
 *
 * @returns the body to send, read from what was stored; null when the submission is no longer planned.
 */
export async function beginSending(deps: Deps, submission: Submission): Promise<SizedBody | null> {
  const { submission_id: id, payload_bytes: written } = submission
  const skew = deps.exchange.skew()
  const attempt = {
    attempts: submission.attempts + 1,
    attempted_at: deps.now(),
    overdue_since: null,
    skew_low_ms: skew === null ? null : Math.floor(skew.lowMs),
    key_fingerprint: keyFingerprint(deps.required.apiKey, deps.required.baseUrl),
  }
  const content = () => readPayload(deps.db, id)
  if (written !== null) {
    const moved = await deps.db.transaction().execute((trx) => moveSubmission(trx, submission, 'send_begun', attempt))
    return moved === null ? null : { bytes: written, content }
  }
  // One snapshot for rows and hashes: what is recorded as sent is what the payload says.
  return await deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const moved = await moveSubmission(trx, submission, 'send_begun', attempt)
      if (moved === null) return null
      let changed = false
      const body = writeBody(deps, trx, submission, () => {
        changed = true
      })
      const bytes = await storePayload(trx, id, body)
      if (changed) await keepSentHashes(trx, id)
      // Written together with the body, which nobody writes a second time.
      const asked = submission.kind === searchKind ? JSON.stringify(wantedOfSearch(deps.config)) : null
      await trx.updateTable('submission').set({ payload_bytes: bytes, asked }).where('submission_id', '=', id).execute()
      return { bytes, content }
    })
}

async function keepSentHashes(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    update submission_row set sent_hash = source_row.desired_hash
    from source_row
    where submission_row.submission_id = ${submissionId}
      and source_row.row_id = submission_row.row_id
      and submission_row.sent_hash is distinct from source_row.desired_hash`.execute(trx)
}
