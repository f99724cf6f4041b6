import type { Run } from '../../../db/tables/run-tables.ts'
import type { Deps } from '../../deps.ts'
import { searchKind } from '../../streams/kind-names.ts'
import { forgetSeen } from '../merge/retire-calculators.ts'
import { finishSearch } from './finish-search.ts'
import { leftOutProperties } from './requested-properties.ts'

/**
 * Once every page of the run's search is loaded: what it should have returned and did not is tombstoned. A search
 * that succeeded in part, or with a page that failed, proves nothing about what is absent.
 */
export async function completeSearch(deps: Deps, run: Run): Promise<void> {
  const pages = await deps.db
    .selectFrom('submission')
    .leftJoin('search_page', 'search_page.submission_id', 'submission.submission_id')
    .select(['submission.submission_id', 'submission.task_status', 'search_page.state'])
    .where('run_id', '=', run.run_id)
    .where('kind', '=', searchKind)
    .where('submission.state', '=', 'settled')
    .execute()
  const search = pages[0]
  if (search === undefined) return
  const { calculatorTypeIds, customPropertyIds, minSeenShare } = deps.config.pull
  const partial = search.task_status !== deps.contract.taskStatuses.success
  const result = await deps.db.transaction().execute(async (trx) => {
    const ended = await finishSearch(trx, search.submission_id, { calculatorTypeIds, minSeenShare, partial })
    const left_out_properties = await leftOutProperties(trx, search.submission_id, customPropertyIds)
    const finished = { ...ended, left_out_properties }
    // A page that failed will not be loaded any more: what the others have shown is of no use.
    if (finished.reason === 'pages_not_loaded') await forgetSeen(trx, search.submission_id, false)
    await trx
      .updateTable('submission')
      .set({ search_result: JSON.stringify(finished) })
      .where('submission_id', '=', search.submission_id)
      .where('search_result', 'is', null)
      .execute()
    return finished
  })
  deps.logger.info({ run_id: run.run_id, submission_id: search.submission_id, ...result }, 'search_completed')
}
