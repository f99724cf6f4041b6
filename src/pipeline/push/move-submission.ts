import type { Transaction, Updateable } from 'kysely'
import type { Schema } from '../../db/tables/schema.ts'
import type { SubmissionState, SubmissionTable } from '../../db/tables/submission.ts'
import { nextState, type SubmissionEvent } from './submission-state.ts'

/**
 * Applies an event to a stored submission under its row's lock: the only writer of `state`.
 * @returns the new state, or null when the submission's state does not expect the event and nothing was changed.
 */
export async function moveSubmission(
  trx: Transaction<Schema>,
  submissionId: number,
  event: SubmissionEvent,
  patch: Omit<Updateable<SubmissionTable>, 'state'> = {},
): Promise<SubmissionState | null> {
  const { state } = await trx
    .selectFrom('submission')
    .select('state')
    .where('submission_id', '=', submissionId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  const next = nextState(state, event)
  if (next === state) return null
  await trx
    .updateTable('submission')
    .set({ ...patch, state: next })
    .where('submission_id', '=', submissionId)
    .execute()
  return next
}
