import { storableJson, storableText } from '../../../db/copy-text.ts'
import { blameRow } from '../../../db/ledger/batch-size.ts'
import { settleRows } from '../../../db/ledger/settle-outcomes.ts'
import type { StoredRefusal, Submission } from '../../../db/tables/submission-tables.ts'
import type { HttpError } from '../../../exchange/errors.ts'
import type { Deps } from '../../deps.ts'
import { moveSubmission } from '../move-submission.ts'
import { learnSize, verdictOfRefusal } from '../waves/learn-size.ts'
import { settle } from './settle.ts'
import { wakeParts } from './settle-as.ts'

/**
 * Answers over what a request carries: the format or the content of one of its rows may be what is not accepted, or one
 * may name what the profile cannot use (specification, Authentication 3).
 */
const overContent = new Set([400, 403, 422])

/**
 * The service refused the request as a whole; its rows may be sent again by the next run. One that was refused over
 * what it carries, and carries several rows or is a part of one that does, is judged like a failed task: by halves.
 */
export async function settleRefused(deps: Deps, submission: Submission, error: HttpError): Promise<void> {
  const { code, reason } = refusalWords(error)
  if (overContent.has(error.status) && (submission.row_count > 1 || submission.depth > 0)) {
    await judgeRefusal(deps, submission, { status: error.status, code, reason, message: storableText(error.message) })
    return
  }
  const refused = await deps.db.transaction().execute(async (trx) => {
    const told = { error_code: code, error_message: storableText(error.message), settled_at: deps.now() }
    const tooLarge = verdictOfRefusal(error) === 'too_large'
    // A row that is too large alone will be so tomorrow: it is kept out until it changes.
    const tooLargeAlone = tooLarge && submission.row_count === 1
    const patch = { ...told, too_large: tooLarge && !tooLargeAlone }
    const moved = await moveSubmission(trx, submission, 'refused', patch)
    if (moved === null) return false
    // An attempt before this one may have been taken: then nobody knows what the service holds.
    const outcome = submission.repeats > 0 ? 'unknown' : 'rejected'
    await settleRows(trx, submission.submission_id, tooLargeAlone, async () => ({ outcome, code, reason }))
    if (tooLargeAlone) await blameRow(trx, submission.submission_id)
    await wakeParts(deps, trx, submission)
    await deps.looks.atRun(trx, moved.runId)
    await learnSize(deps, trx, submission, tooLargeAlone ? null : verdictOfRefusal(error))
    return true
  })
  if (!refused) return
  deps.logger.warn({ run_id: submission.run_id, submission_id: submission.submission_id, code }, 'submission_refused')
}

/** What happened to the whole of a request, whose rows are judged by its halves. */
type RefusalEvent = 'refused_over_rows' | 'answers_given_up'

/** Stores what was said of the whole of a request, and has its rows judged by halves. */
export async function judgeRefusal(
  deps: Deps,
  submission: Submission,
  refusal: StoredRefusal,
  event: RefusalEvent = 'refused_over_rows',
): Promise<void> {
  const { submission_id: id } = submission
  const told = { error_code: refusal.code, error_message: refusal.message, refusal: storableJson(refusal) }
  const moved = await deps.db.transaction().execute(async (trx) => {
    const patch = { ...told, terminal_at: deps.now(), overdue_since: null }
    const moved = await moveSubmission(trx, submission, event, patch)
    if (moved !== null) await deps.looks.atSubmissions(trx, [id])
    return moved
  })
  // At once, because we have the lock; the look is for when we die before it is done.
  if (moved !== null) await settle(deps, id)
}

/** The status by which any HTTP server, or a proxy before the service, refuses a body for its size. */
const contentTooLarge = 413

/**
 * Code and words of a request that was refused as a whole: the service's own, but for its size, which has a code here.
 * Pure.
 */
function refusalWords(error: HttpError): { code: string; reason: string } {
  const said = error.serviceMessage ?? error.message
  if (error.status !== contentTooLarge) {
    return { code: storableText(error.errorCode ?? String(error.status)), reason: storableText(said) }
  }
  const words = [error.errorCode, said].filter((part) => part !== null).join(': ')
  return { code: 'request_too_large', reason: storableText(`the request as a whole is too large (413; ${words})`) }
}

/** The service no longer knows the task: nobody can say what became of its rows. The next run sends them again. */
export async function settleLost(deps: Deps, submission: Submission, error: HttpError): Promise<void> {
  const lost = await deps.db.transaction().execute(async (trx) => {
    const patch = { error_code: 'task_lost', error_message: storableText(error.message), settled_at: deps.now() }
    const moved = await moveSubmission(trx, submission, 'task_unknown', patch)
    if (moved === null) return false
    const said = { outcome: 'unknown', code: 'task_lost', reason: 'the service no longer knows the task' } as const
    await settleRows(trx, submission.submission_id, false, async () => said)
    await wakeParts(deps, trx, submission)
    await deps.looks.atRun(trx, moved.runId)
    return true
  })
  if (!lost) return
  deps.logger.warn({ run_id: submission.run_id, submission_id: submission.submission_id }, 'submission_lost')
}
