import { sql, type Transaction } from 'kysely'
import type { Config } from '../../../config/schema.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { SearchPage } from '../../../db/tables/service-tables.ts'
import type { SearchAsked, Submission } from '../../../db/tables/submission-tables.ts'
import type { Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { searchKind } from '../../streams/kind-names.ts'
import type { PageCounts } from '../merge/merge-page.ts'
import { beginHistory } from '../merge/value-history.ts'

/** Reads a page's row and locks it: a second load of the same page waits here for the first. */
export async function lockSearchPage(trx: Transaction<Schema>, pageId: number): Promise<SearchPage | undefined> {
  return await trx
    .selectFrom('search_page')
    .selectAll()
    .where('page_id', '=', pageId)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** Reads a page's row. */
export async function findSearchPage(trx: Transaction<Schema>, pageId: number): Promise<SearchPage | undefined> {
  return await trx.selectFrom('search_page').selectAll().where('page_id', '=', pageId).executeTakeFirst()
}

export async function markPageLoaded(
  trx: Transaction<Schema>,
  pageId: number,
  counts: Partial<PageCounts>,
): Promise<void> {
  await trx
    .updateTable('search_page')
    .set((eb) => ({
      ...counts,
      state: 'loaded',
      error_code: null,
      error_message: null,
      loaded_at: eb.fn('clock_timestamp', []),
    }))
    .where('page_id', '=', pageId)
    .execute()
}

/**
 * How a search ends: stores its pages, each address once, and asks for each to be loaded.
 * Specification: Calculator search result page.
 */
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
  if (submission.kind === searchKind) await beginHistory(trx, submission.submission_id, deps.config.pull.history)
  if (task.pageUrls.length === 0) return
  // One parameter, however many pages: a statement takes 65,535.
  const { rows: pages } = await sql<{ page_id: number }>`
    insert into search_page (submission_id, ordinal, url, state)
    select ${submission.submission_id}::bigint, min(place) - 1, url, 'listed'
    from unnest(${task.pageUrls}::text[]) with ordinality as listed(url, place)
    group by url
    order by min(place)
    returning page_id`.execute(trx)
  await deps.looks.atPages(
    trx,
    pages.map(({ page_id }) => page_id),
  )
}

/**
 * What a search for calculators asked for, as it is stored with it: the configuration of the process that loads its
 * pages or ends it may be another. Pure.
 * @param asked null of a search whose body was written before that was stored.
 */
export function askedOf(asked: Record<string, unknown> | null, { pull }: Config): SearchAsked {
  return {
    customPropertyIds: idsIn(asked?.customPropertyIds) ?? pull.customPropertyIds,
    calculatorTypeIds: idsIn(asked?.calculatorTypeIds) ?? pull.calculatorTypeIds,
  }
}

function idsIn(member: unknown): readonly string[] | null {
  return Array.isArray(member) ? member.filter((id) => typeof id === 'string') : null
}
