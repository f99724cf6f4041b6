import type { Submission } from '../../db/tables/submission-tables.ts'
import type { Deps } from '../deps.ts'

/**
 * Of a request: where it stands, what the service last said of its task and how often it did, which request it is a
 * part of, and whether its run waits for it.
 */
export type StateOfRequest = Pick<Submission, 'state' | 'task_status' | 'polls' | 'parent_id'> & { run_state: string }

/** Where a request stands now. */
export async function stateOfRequest({ db }: Pick<Deps, 'db'>, submissionId: number): Promise<StateOfRequest> {
  return await db
    .selectFrom('submission')
    .innerJoin('run', 'run.run_id', 'submission.run_id')
    .select(['submission.state', 'task_status', 'polls', 'parent_id', 'run.state as run_state'])
    .where('submission_id', '=', submissionId)
    .executeTakeFirstOrThrow()
}
