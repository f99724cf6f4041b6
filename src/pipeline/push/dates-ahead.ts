import type { Submission } from '../../db/tables/submission-tables.ts'
import type { Deps } from '../deps.ts'
import { updateAsRead } from './move-submission.ts'

/** Two processes read one clock at moments that differ by less. Milliseconds. */
const readingsDifferMs = 2_000

/** From when a submission waits for something. */
const waitsFrom = ['uncertain_since', 'answers_lost_since', 'failing_since', 'accepted_at'] as const

/**
 * Of a submission that waits from a moment which lies ahead, puts now in the place of that moment: our database's clock
 * was put back since, and reckoned by the old one the wait would last until the clock has caught up. When it was sent
 * stays as it is: that is compared with stamps of the service, by how far the two clocks were apart then.
 *
 * Under the submission's lock, before anything is reckoned.
 * @returns the submission as it is by then.
 */
export async function dateWaits(deps: Deps, submission: Submission): Promise<Submission> {
  const { db, logger, now } = deps
  const at = now()
  const ahead = waitsFrom.filter((column) => {
    const since = submission[column]
    return since !== null && since.getTime() - at.getTime() > readingsDifferMs
  })
  if (ahead.length === 0) return submission
  const dated = Object.fromEntries(ahead.map((column) => [column, at]))
  if (!(await db.transaction().execute((trx) => updateAsRead(trx, submission, dated)))) return submission
  const { run_id, submission_id } = submission
  logger.warn({ run_id, submission_id, ahead }, 'submission_dated_ahead')
  return { ...submission, ...dated }
}

/**
 * From when the wait of a submission whose answer was lost is reckoned: from its attempt, or from when the loss was
 * found if the attempt is dated later, because the clock was ahead then. Pure.
 */
export function sentAtLatest({ uncertain_since }: Pick<Submission, 'uncertain_since'>, attemptedAt: Date): Date {
  return uncertain_since !== null && uncertain_since < attemptedAt ? uncertain_since : attemptedAt
}
