import { withSubmissionLockWaiting } from '../../db/locks/advisory-lock.ts'
import type { Submission } from '../../db/tables/submission-tables.ts'
import { ActionRefused, type Deps } from '../deps.ts'

/**
 * Milliseconds that a person waits for the look at work, which may be waiting for the service. A call ends within
 * `exchange.headersTimeoutMs`, a minute unless configured; a download may take longer, and then the person is told.
 */
const patienceMs = 75_000

/**
 * Runs a person's action under the lock that every look at the submission takes: no daemon sends, polls or settles it
 * meanwhile. What a look has made of it while the person waited for that lock is not what the person has seen.
 * @throws {ActionRefused} `submission_unknown`; `submission_elsewhere` when it went to a destination that is not in
 *   use; `submission_busy` when a look does not end in time; `submission_state` when it became another meanwhile.
 */
export async function lockSubmission<T>(
  { db, pool }: Pick<Deps, 'db' | 'pool'>,
  submissionId: number,
  work: (submission: Submission) => Promise<T>,
): Promise<T> {
  const done: { result: T }[] = []
  const seen = await findSubmission(db, submissionId)
  const locked = await withSubmissionLockWaiting(pool, submissionId, patienceMs, async () => {
    const submission = await findSubmission(db, submissionId)
    await refuseElsewhere({ db }, submission)
    const { state, attempts, correlation_id } = submission
    if (state !== seen.state || attempts !== seen.attempts || correlation_id !== seen.correlation_id) {
      throw new ActionRefused(
        'submission_state',
        `Submission ${submissionId} was ${seen.state}, and became ${state} while a look at it ended. Nothing was changed; look at it, and ask again if you still mean it`,
      )
    }
    done.push({ result: await work(submission) })
  })
  const [first] = done
  if (!locked || first === undefined) {
    throw new ActionRefused(
      'submission_busy',
      `A process has been looking at submission ${submissionId} for ${patienceMs / 1000} seconds, as when the service is slow to answer. Nothing was changed; try again`,
    )
  }
  return first.result
}

async function findSubmission(db: Deps['db'], submissionId: number): Promise<Submission> {
  const submission = await db
    .selectFrom('submission')
    .selectAll()
    .where('submission_id', '=', submissionId)
    .executeTakeFirst()
  if (submission !== undefined) return submission
  throw new ActionRefused(
    'submission_unknown',
    `There is no submission ${submissionId}. nightferry submissions lists those of a run`,
  )
}

/** What is known of its rows lies with the destination that it went to, and that is not at hand. */
async function refuseElsewhere({ db }: Pick<Deps, 'db'>, { submission_id, run_id }: Submission): Promise<void> {
  const sent = await db
    .selectFrom('run')
    .innerJoin('destination', 'destination.destination_id', 'run.destination_id')
    .select(['destination.name', 'schema_name'])
    .where('run_id', '=', run_id)
    .executeTakeFirstOrThrow()
  if (sent.schema_name === null) return
  throw new ActionRefused(
    'submission_elsewhere',
    `Submission ${submission_id} went to the destination ${sent.name}, which is not in use. nightferry destination says how to put it to use`,
  )
}
