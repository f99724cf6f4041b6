import { storableText } from '../../db/storable.ts'
import type { Submission } from '../../db/tables/submission.ts'
import { HttpError } from '../../exchange/errors.ts'
import type { Deps } from '../deps.ts'
import { StopRun } from '../stop-run.ts'
import { hasLasted, retryInMs } from '../when-to-look.ts'

/**
 * A call about a submission failed in a way that says nothing about the submission: look again later.
 * Its state and outcomes stay as they are. Failures of one code in a row are counted, so that a service that is
 * down now and then is not taken for one that denies a task. The service may say when to look again (Retry-After).
 *
 * @throws {StopRun} once calls have failed for as long as the configuration tolerates.
 */
export async function callFailed(
  deps: Deps,
  submission: Submission,
  error: { code: string; message: string },
): Promise<void> {
  // After a call that succeeded failing begins again: an uncertain submission keeps the time of its lost answer.
  const since = (submission.failures > 0 ? submission.failing_since : null) ?? deps.now()
  const failures = submission.error_code === error.code ? submission.failures + 1 : 1
  deps.logger.warn(
    { run_id: submission.run_id, submission_id: submission.submission_id, code: error.code, failures },
    'exchange_call_failed',
  )
  if (hasLasted(since, deps.now(), deps.config.exchange.giveUpAfterMs)) {
    throw new StopRun(
      error.code,
      `${error.message}. Given up after ${Math.round((deps.now().getTime() - since.getTime()) / 1000)} seconds; the next run goes on from here`,
    )
  }
  await deps.db.transaction().execute(async (trx) => {
    await trx
      .updateTable('submission')
      .set({ failures, failing_since: since, error_code: error.code, error_message: storableText(error.message) })
      .where('submission_id', '=', submission.submission_id)
      .execute()
    await deps.looks.atSubmissions(trx, [submission.submission_id], retryAfterOf(error) ?? retryInMs(failures, null))
  })
}

/**
 * Milliseconds after which the service wants to be asked again, where it says so; also where the answer is lost for all
 * that.
 */
export function retryAfterOf(error: unknown): number | null {
  if (error instanceof HttpError) return error.retryAfterMs
  return error instanceof Error && error.cause instanceof HttpError ? error.cause.retryAfterMs : null
}

/** The columns that say that calls succeed again. */
export const callSucceeded = { failures: 0, failing_since: null, error_code: null, error_message: null }
