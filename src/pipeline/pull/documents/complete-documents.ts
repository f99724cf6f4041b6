import type { Run } from '../../../db/tables/run-tables.ts'
import type { Deps } from '../../deps.ts'
import { documentKindNames } from '../../streams/kind-names.ts'
import { finishDocuments } from './finish-documents.ts'

/** Once every page of the run's searches for documents is loaded, or has failed: each search is ended on its own. */
export async function completeDocuments(deps: Deps, run: Run): Promise<void> {
  const searches = await deps.db
    .selectFrom('submission')
    .select(['submission_id', 'partition', 'task_status'])
    .where('run_id', '=', run.run_id)
    .where('kind', 'in', documentKindNames)
    .where('state', '=', 'settled')
    .where('error_code', 'is', null)
    .where('search_result', 'is', null)
    .orderBy('submission_id')
    .execute()
  for (const { submission_id, partition, task_status } of searches) {
    const configured = deps.config.pull.searches.find(({ name }) => name === partition)
    const finished = await deps.db.transaction().execute((trx) =>
      finishDocuments(trx, submission_id, {
        minSeenShare: configured?.minSeenShare ?? null,
        partial: task_status !== deps.contract.taskStatuses.success,
      }),
    )
    deps.logger.info({ run_id: run.run_id, submission_id, search: partition, ...finished }, 'search_completed')
  }
}
