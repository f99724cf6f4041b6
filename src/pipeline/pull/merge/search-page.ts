import type { Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { SearchPage } from '../../../db/tables/service-tables.ts'
import type { PageCounts } from './merge-page.ts'

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

export async function markPageLoaded(trx: Transaction<Schema>, pageId: number, counts: PageCounts): Promise<void> {
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
