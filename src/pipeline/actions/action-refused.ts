import { withSubmissionLockWaiting } from '../../db/locks/advisory-lock.ts'
import type { Submission } from '../../db/tables/submission.ts'
import type { Deps } from '../deps.ts'

/** Why a person's action was not taken: nothing was changed. */
type ActionRefusedCode =
  /** There is no such submission. */
  | 'submission_unknown'
  /** The submission is in no state in which the action means anything. */
  | 'submission_state'
  /** A look at the submission did not end while the action waited for it. */
  | 'submission_busy'
  /** The task that was named cannot be the submission's. */
  | 'task_not_adoptable'
  /** The submission went to a destination that is not in use. */
  | 'submission_elsewhere'
  /** A run is under way, and would be wrong about what the action changes. */
  | 'run_under_way'
  /** More rows would be sent again than the guard lets through. */
  | 'resend_beyond_guard'
  /** Another destination has the name. */
  | 'name_taken'

/** An action that cannot be taken as things stand. The message says why, and what can be done instead. */
export class ActionRefused extends Error {
  readonly code: ActionRefusedCode

  constructor(code: ActionRefusedCode, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Milliseconds that a person waits for the look at work, which may be waiting for the service. A call ends within
 * `exchange.headersTimeoutMs`, a minute unless configured; a download may take longer, and then the person is told.
 */
const patienceMs = 75_000

/**
 * Runs a person's action under the lock that every look at the submission takes: no daemon sends, polls or settles it
 * meanwhile.
 * @throws {ActionRefused} `submission_unknown`; `submission_elsewhere` when it went to a destination that is not in
 * use;
 *   `submission_busy` when a look does not end in time.
 */
export async function lockSubmission<T>(
  { db, pool }: Pick<Deps, 'db' | 'pool'>,
  submissionId: number,
  work: (submission: Submission) => Promise<T>,
): Promise<T> {
  const done: { result: T }[] = []
  const locked = await withSubmissionLockWaiting(pool, submissionId, patienceMs, async () => {
    const submission = await db
      .selectFrom('submission')
      .selectAll()
      .where('submission_id', '=', submissionId)
      .executeTakeFirst()
    if (submission === undefined) {
      throw new ActionRefused(
        'submission_unknown',
        `There is no submission ${submissionId}. nightferry submissions lists those of a run`,
      )
    }
    await refuseElsewhere({ db }, submission)
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
