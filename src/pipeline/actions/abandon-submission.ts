import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import { storableText } from '../../db/copy-text.ts'
import { releaseUnsent, settleRows } from '../../db/ledger/settle-outcomes.ts'
import { type SubmissionState, unfinishedStates } from '../../db/tables/submission-tables.ts'
import { ActionRefused, type Deps } from '../deps.ts'
import { moveSubmission } from '../push/move-submission.ts'
import { lockSubmission } from './lock-submission.ts'

type Abandoned = {
  submission_id: number
  kind: string
  /** The state that it was given up in. */
  was: SubmissionState
  correlation_id: string | null
  rows: number
  /** False: the service took nothing of it up, so its rows are as they were: ready at once, unless it is a part. */
  sent: boolean
}

/**
 * Gives a submission up that waits for something which will not come. What became of its rows is unknown: they are
 * pending, and the next run sends them again; the run that waited goes on. Where no attempt can have arrived, they are
 * as they were. Should the service work on the task after all, its end is not read any more, so anyone who knows that
 * it is stuck cancels it first.
 *
 * @throws {ActionRefused} `submission_state` when it has ended already.
 */
export async function abandonSubmission(deps: Deps, submissionId: number, actor: Actor): Promise<Abandoned> {
  return await lockSubmission(deps, submissionId, async (submission) => {
    const { kind, state: was, correlation_id, row_count } = submission
    const sent = was !== 'planned' || submission.uncertain_since !== null
    const reason = storableText(`given up by ${actor.user} while it was ${was}`)
    if (!unfinishedStates.includes(was)) {
      throw new ActionRefused('submission_state', `Submission ${submissionId} is ${was}: nothing waits for it any more`)
    }
    await deps.db.transaction().execute(async (trx) => {
      // We have the lock, so the one that sent it is gone, and the answer with it.
      if (was === 'sending') await moveSubmission(trx, submission, 'answer_lost', { uncertain_since: deps.now() })
      const patch = { error_code: 'abandoned', error_message: reason, settled_at: deps.now() }
      const moved = await moveSubmission(trx, submission, 'abandoned', patch)
      if (moved === null) throw new Error(`submission ${submissionId} changed its state under its lock`)
      if (sent) {
        await settleRows(trx, submissionId, false, async () => ({ outcome: 'unknown', code: 'abandoned', reason }))
      } else {
        await releaseUnsent(trx, submissionId)
      }
      await recordAction(trx, {
        verb: 'abandon',
        actor,
        at: deps.now(),
        submissionId,
        correlationId: correlation_id,
        rows: row_count,
        result: `was ${was}`,
      })
      await deps.looks.atRun(trx, moved.runId)
    })
    deps.logger.warn({ submission_id: submissionId, correlation_id, was, rows: row_count }, 'submission_abandoned')
    return { submission_id: submissionId, kind, was, correlation_id, rows: row_count, sent }
  })
}
