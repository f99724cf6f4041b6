import type { Transaction, Updateable } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { SubmissionState, SubmissionTable } from '../../db/tables/submission.ts'
import { nextState, type SubmissionEvent } from './submission-state.ts'

/**
 * Applies an event to a stored submission under its row's lock: the only writer of `state`.
 * @returns the new state, and the run that the submission belongs to by now: a later one may have taken it over. Null
 *   when the submission's state does not expect the event, or the destination that it went to is not in use any more:
 *   its
 *   rows lie there. Nothing was changed then.
 */
export async function moveSubmission(
  trx: Transaction<Schema>,
  submissionId: number,
  event: SubmissionEvent,
  patch: Omit<Updateable<SubmissionTable>, 'state'> = {},
): Promise<{ state: SubmissionState; runId: number } | null> {
  const { state, run_id } = await trx
    .selectFrom('submission')
    .select(['state', 'run_id'])
    .where('submission_id', '=', submissionId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  if (!(await isInUse(trx, run_id))) return null
  const next = nextState(state, event)
  if (next === state) return null
  await trx
    .updateTable('submission')
    .set({ ...patch, state: next })
    .where('submission_id', '=', submissionId)
    .execute()
  return { state: next, runId: run_id }
}

/** Whether the destination of a run is in use, and stays so until the transaction ends. */
async function isInUse(trx: Transaction<Schema>, runId: number): Promise<boolean> {
  const destination = await trx
    .selectFrom('run')
    .innerJoin('destination', 'destination.destination_id', 'run.destination_id')
    .select('schema_name')
    .where('run_id', '=', runId)
    .forKeyShare(['destination'])
    .executeTakeFirstOrThrow()
  return destination.schema_name === null
}
