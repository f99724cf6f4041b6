import { earlierPartWrites } from '../../db/ledger/split-submission.ts'
import { withSubmissionLock } from '../../db/locks/advisory-lock.ts'
import type { Submission } from '../../db/tables/submission.ts'
import type { Deps } from '../deps.ts'
import { settle } from './outcomes/settle.ts'
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
  return await withSubmissionLock(deps.pool, submissionId, async (held) => {
    const submission = await deps.db
      .selectFrom('submission')
      .innerJoin('run', 'run.run_id', 'submission.run_id')
      .selectAll('submission')
      .where('submission_id', '=', submissionId)
      .where('run.state', '=', 'running')
      .executeTakeFirst()
    if (submission === undefined || (timer !== undefined && timer !== submission.timer)) return
    await act(deps, submission, held)
  })
}

async function act(deps: Deps, submission: Submission, held: AbortSignal): Promise<void> {
  const { state } = submission
  switch (state) {
    case 'planned':
      if (await earlierPartWrites(deps.db, submission)) return lookLater(deps, submission)
      return send(deps, submission, held)
    case 'sending':
      // We hold the lock, so whoever sent it is gone, and the answer with it.
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

/** A part of a split request waits for an earlier one. Its end asks for this look; the delay is for when it cannot. */
async function lookLater({ config, db, looks }: Deps, { submission_id }: Submission): Promise<void> {
  await db.transaction().execute((trx) => looks.atSubmissions(trx, [submission_id], config.exchange.pollIntervalMs))
}
