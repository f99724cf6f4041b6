import type { Transaction } from 'kysely'
import type { SearchSettings } from '../../../config/job-settings.ts'
import { lockRun } from '../../../db/runs/run-life.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Run } from '../../../db/tables/run-tables.ts'
import type { Deps } from '../../deps.ts'
import { storePayload } from '../../push/sending/payload.ts'
import { unfinishedStates } from '../../push/submission-state.ts'
import { documentKindNames, documentKindOf } from '../../streams/kind-names.ts'
import { idMembersOf } from './document-assembler.ts'
import { finishDocuments } from './finish-documents.ts'

/**
 * Plans a submission for each search of `pull.searches`, once in a run, and waits for them and their pages. One that
 * the service could not do is left as it is: the report says so, and nothing else waits for it or fails over it.
 * A run that the guard holds asks the service for nothing.
 *
 * @param only the name of the one search that is wanted; null: all.
 * @returns true while one of the searches or of their pages is still under way.
 */
export async function planDocuments(deps: Deps, run: Run, only: string | null = null): Promise<boolean> {
  if (run.held) return false
  return await deps.db.transaction().execute(async (trx) => {
    if (!(await lockRun(trx, run.run_id))) return true
    const planned = await trx
      .selectFrom('submission')
      .select(['submission_id', 'partition', 'state'])
      .where('run_id', '=', run.run_id)
      .where('kind', 'in', documentKindNames)
      .where('state', '!=', 'abandoned')
      .execute()
    const names = new Set(planned.map(({ partition }) => partition))
    const missing = deps.config.pull.searches.filter(({ name }) => !names.has(name) && (only === null || name === only))
    for (const search of missing) await plan(deps, trx, run, search)
    if (missing.length > 0 || planned.some(({ state }) => unfinishedStates.includes(state))) return true
    if (planned.length === 0) return false
    const listed = await trx
      .selectFrom('search_page')
      .select('page_id')
      .where(
        'submission_id',
        'in',
        planned.map(({ submission_id }) => submission_id),
      )
      .where('state', '=', 'listed')
      .limit(1)
      .executeTakeFirst()
    return listed !== undefined
  })
}

/** The body is written with the plan: anyone who sends it needs no configuration that still knows the search. */
async function plan(deps: Deps, trx: Transaction<Schema>, run: Run, { name, search, body }: SearchSettings) {
  const { submission_id } = await trx
    .insertInto('submission')
    .values({ run_id: run.run_id, kind: documentKindOf(search), partition: name, state: 'planned', row_count: 0 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  const asked = JSON.stringify(body)
  const payload_bytes = await storePayload(trx, submission_id, once(asked))
  await trx.updateTable('submission').set({ payload_bytes, asked }).where('submission_id', '=', submission_id).execute()
  await deps.looks.atSubmissions(trx, [submission_id])
}

async function* once(text: string): AsyncGenerator<string> {
  yield text
}

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
        idLists: new Set(configured === undefined ? [] : idMembersOf(deps.contract, configured).keys()),
      }),
    )
    deps.logger.info({ run_id: run.run_id, submission_id, search: partition, ...finished }, 'search_completed')
  }
}
