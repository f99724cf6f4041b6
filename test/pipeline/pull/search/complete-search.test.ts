import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { completeSearch } from '../../../../src/pipeline/pull/search/whole-search.ts'
import { emptyTables } from '../../../helpers/empty-tables.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { openFerry } from '../../push/ferry.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(async () => {
  await ferry.clear()
  await emptyTables(ferry.ledger.db, ['company'], true)
})

/** Three companies are known, and a search with one loaded page has shown two of them. */
async function searched(taskStatus: string) {
  const { db } = ferry.ledger
  await ferry.ledger.startRun()
  const run = await db.selectFrom('run').selectAll().where('state', '=', 'running').executeTakeFirstOrThrow()
  const { submission_id } = await db
    .insertInto('submission')
    .values({
      run_id: run.run_id,
      kind: 'calculators_search',
      state: 'settled',
      row_count: 0,
      task_status: taskStatus,
    })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  await sql`
    insert into company (company_id, name) select gen_random_uuid(), name from unnest(array['A', 'B', 'C']) as name
  `.execute(db)
  await sql`
    insert into search_page (submission_id, ordinal, url, state, companies)
    values (${submission_id}, 0, 'https://x/', 'loaded', 2)`.execute(db)
  await sql`
    insert into search_seen_company select ${submission_id}::bigint, company_key from company where name <> 'C'
  `.execute(db)
  return run
}
const live = async () => {
  const { rows } = await sql<{ name: string }>`
    select name from company where removed_at is null order by name`.execute(ferry.ledger.db)
  return rows.map(({ name }) => name)
}

describe('a search whose pages are all loaded', () => {
  it.each([
    ['Success', ['A', 'B']],
    ['PartialSuccess', ['A', 'B', 'C']],
  ])('a search whose pages are all loaded that ended as %s leaves %j', async (status, left) => {
    await using deps = ferry.deps('http://127.0.0.1:9')
    await completeSearch(deps, await searched(status))
    expect(await live()).toEqual(left)
  })
})
