import { releaseUnsent } from '../../db/ledger/settle-outcomes.ts'
import { earlierPart } from '../../db/ledger/split-submission.ts'
import { withSubmissionLock } from '../../db/locks/advisory-lock.ts'
import type { Submission } from '../../db/tables/submission.ts'
import type { Deps } from '../deps.ts'
import { moveSubmission } from './move-submission.ts'
import { settle } from './outcomes/settle.ts'
import { becomeOverdue } from './sending/overdue.ts'
import { poll } from './sending/poll.ts'
import { resolveUncertain } from './sending/resolve-uncertain.ts'
import { becomeUncertain, send } from './sending/send.ts'

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
    await act(deps, submission, lockLost)
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
    if ((await moveSubmission(trx, id, 'abandoned', { settled_at: deps.now() })) === null) return
    await releaseUnsent(trx, id)
    await deps.looks.atRun(trx, run_id)
  })
}
