import type { Database } from '../../../db/database.ts'
import { lockRun } from '../../../db/runs/lock-run.ts'
import type { Run } from '../../../db/tables/run-tables.ts'
import type { Deps } from '../../deps.ts'
import { overdueCode } from '../../push/move-submission.ts'
import { unfinishedStates } from '../../push/submission-state.ts'
import { StopRun } from '../../stop-run.ts'
import { searchKind } from '../../streams/kind-names.ts'
import { doubtfulProperties } from './requested-properties.ts'

/**
 * Plans the run's calculator search, once, and waits for it and its pages, for `exchange.taskPatienceMs` at most for
 * its task. A run that the guard holds asks the service for nothing.
 *
 * @returns true while the search or one of its pages is still under way.
 * @throws {StopRun} when the service could not do the search.
 */
export async function planSearch(deps: Deps, run: Run): Promise<boolean> {
  if (run.held) return false
  return await deps.db.transaction().execute(async (trx) => {
    if (!(await lockRun(trx, run.run_id))) return true
    const search = await trx
      .selectFrom('submission')
      .selectAll()
      .where('run_id', '=', run.run_id)
      .where('kind', '=', searchKind)
      .where('state', '!=', 'abandoned')
      .executeTakeFirst()
    if (search === undefined) {
      const { submission_id } = await trx
        .insertInto('submission')
        .values({ run_id: run.run_id, kind: searchKind, state: 'planned', row_count: 0 })
        .returning('submission_id')
        .executeTakeFirstOrThrow()
      await deps.looks.atSubmissions(trx, [submission_id])
      await warnOfProperties(deps, trx, run.run_id)
      return true
    }
    if (unfinishedStates.includes(search.state)) return true
    // The report says so, and what is known stays.
    if (search.error_code === overdueCode) return false
    if (search.state !== 'settled' || search.error_code !== null) {
      throw new StopRun(
        search.error_code ?? 'search_failed',
        `The calculator search (submission ${search.submission_id}${search.correlation_id === null ? '' : `, task ${search.correlation_id}`}) brought nothing: ${search.error_message ?? search.state}. What was sent is safe; nightferry run nightly-sync searches again`,
      )
    }
    const listed = await trx
      .selectFrom('search_page')
      .select('page_id')
      .where('submission_id', '=', search.submission_id)
      .where('state', '=', 'listed')
      .limit(1)
      .executeTakeFirst()
    return listed !== undefined
  })
}

async function warnOfProperties({ config, logger }: Deps, db: Database, runId: number): Promise<void> {
  const properties = await doubtfulProperties(db, config.pull.customPropertyIds)
  if (properties.length > 0) logger.warn({ run_id: runId, properties }, 'custom_properties_not_to_be_had')
}
