import type { Transaction } from 'kysely'
import type { Schema } from '../../db/tables/schema.ts'
import type { Submission } from '../../db/tables/submission.ts'
import type { Task } from '../../exchange/task.ts'
import type { Deps } from '../deps.ts'

/** Stores the pages of a finished search and asks for each to be loaded. Specification: Calculator search result page. */
export async function listPages(
  deps: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  task: Task,
): Promise<void> {
  const { success, partialSuccess } = deps.contract.taskStatuses
  if (task.status !== success && task.status !== partialSuccess) {
    await trx
      .updateTable('submission')
      .set({
        error_code: 'search_failed',
        error_message: task.generalErrors.join('; ') || `the search ended as ${task.status}`,
      })
      .where('submission_id', '=', submission.submission_id)
      .execute()
    return
  }
  if (task.pageUrls.length === 0) return
  const pages = await trx
    .insertInto('search_page')
    .values(
      task.pageUrls.map((url, ordinal) => ({
        submission_id: submission.submission_id,
        ordinal,
        url,
        state: 'listed' as const,
      })),
    )
    .returning('page_id')
    .execute()
  await deps.looks.atPages(
    trx,
    pages.map(({ page_id }) => page_id),
  )
}
