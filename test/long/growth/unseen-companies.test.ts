import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { openExplainedPool } from '../../../bench/growth/explained-pool.ts'
import { createDatabase } from '../../../src/db/database.ts'
import { finishSearch } from '../../../src/pipeline/pull/search/whole-search.ts'
import { testDatabase } from '../../helpers/postgres.ts'

const database = await testDatabase()
const { pool, during, statements } = await openExplainedPool(database.url)
afterAll(async () => {
  await pool.end()
  await database[Symbol.asyncDispose]()
})

/** More than the planner believes to fit into `workMem`, so that it looks through a list instead of hashing it. */
const [unseen, seen, workMem] = [6_000, 3_000, '64kB']

/**
 * A search whose one page shows the last companies whole, of them one that keeps half of its calculators, and nothing
 * of the others.
 */
async function storeSearch(): Promise<number> {
  await pool.query('truncate company, calculator, unrenewed_part, search_seen_company, run restart identity cascade')
  await pool.query(`
    insert into company (company_id, name, first_seen_at)
    select gen_random_uuid(), 'H', now() - interval '1 day' from generate_series(1, ${unseen + seen})`)
  await pool.query(`
    insert into calculator (calculator_id, company_key, type_id, title, period_year, first_seen_at)
    select gen_random_uuid(), company_key, gen_random_uuid(), 'Energy', 2000 + n, now() - interval '1 day'
    from company, generate_series(1, 2) n`)
  const { rows } = await pool.query<{ submission_id: number }>(`
    with begun as (
      insert into run (job, trigger, scheduled_for, state, step)
      values ('nightly-sync', 'cli', clock_timestamp(), 'finished', 'report') returning run_id
    )
    insert into submission (run_id, kind, state, row_count, planned_at)
    select run_id, 'calculators_search', 'settled', 0, clock_timestamp() from begun returning submission_id`)
  const submissionId = rows[0]?.submission_id ?? 0
  await pool.query(
    `insert into search_page (submission_id, ordinal, url, state, companies)
     values ($1, 0, 'https://pages.example/0', 'loaded', ${seen})`,
    [submissionId],
  )
  await pool.query(
    `insert into search_seen_company (submission_id, company_key, whole, given)
     select $1, company_key, true, true from company where company_key > ${unseen}`,
    [submissionId],
  )
  await pool.query(`update search_seen_company set whole = false where company_key % 2 = 0`)
  await pool.query(
    `insert into search_seen_calculator (submission_id, calculator_key)
     select $1, calculator_key from calculator where company_key % 2 = 0 and period_year = 2001
       and company_key > ${unseen}`,
    [submissionId],
  )
  await pool.query('analyze company, calculator, search_seen_company, search_seen_calculator')
  return submissionId
}

it.each([
  ['removed', { minSeenShare: 0 }, { companies: unseen, calculators: 2 * unseen + seen / 2 }],
  ['kept and marked', { minSeenShare: 1 }, { reason: 'too_few_companies', withheld: true }],
])(
  'the end of a search does not look through all unseen companies for each calculator, though they do not fit a hash table of the planner, where they are %s',
  async (stage, options, ended) => {
    const submissionId = await storeSearch()
    const result = await during(stage, () =>
      createDatabase(pool)
        .transaction()
        .execute(async (trx) => {
          await sql`select set_config('work_mem', ${workMem}, true)`.execute(trx)
          return await finishSearch(trx, submissionId, options)
        }),
    )
    expect(result).toMatchObject(ended)
    const ours = statements().filter((statement) => statement.stage === stage)
    expect(ours.length).toBeGreaterThan(12)
    // A handful of looks by hash or key at each row; a look through a list for each row is thousands.
    const most = 20 * 2 * (unseen + seen)
    for (const { text, work } of ours) expect([text, work]).toEqual([text, Math.min(work, most)])
  },
)
