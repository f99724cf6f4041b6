import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { openExplainedPool } from '../../../bench/growth/explained-pool.ts'
import { createDatabase } from '../../../src/db/database.ts'
import { judgeInputs, stageInputs } from '../../../src/pipeline/compare/compare-inputs.ts'
import { testDatabase } from '../../helpers/postgres.ts'

const database = await testDatabase()
const { pool, during, statements } = await openExplainedPool(database.url)
afterAll(async () => {
  await pool.end()
  await database[Symbol.asyncDispose]()
})

const [hotels, calculatorsEach, valuesEach] = [1_000, 20, 10]
const values = hotels * calculatorsEach * valuesEach

/** What a first search brings, while autovacuum is at work on the values: the planner could not be told of them. */
async function storeSearch(spellings: 1 | 2): Promise<number> {
  const tables = ['calculator_value', 'calculator', 'calculator_variable', 'company', 'mapping']
  for (const table of tables) await pool.query(`alter table ${table} set (autovacuum_enabled = off)`)
  const { rows } = await pool.query<{ submission_id: number }>(`
    with begun as (
      insert into run (job, trigger, scheduled_for, state, step)
      values ('nightly-sync', 'cli', clock_timestamp() + random() * interval '1 day', 'finished', 'report')
      returning run_id
    )
    insert into submission (run_id, kind, state, row_count, planned_at)
    select run_id, 'calculators_search', 'settled', 0, clock_timestamp() from begun returning submission_id`)
  const submissionId = rows[0]?.submission_id ?? 0
  await pool.query(`truncate ${tables.join(', ')} restart identity`)
  await pool.query(`delete from pg_statistic where starelid = 'calculator_value'::regclass`)
  await pool.query(
    `insert into company (company_id, name) select gen_random_uuid(), 'H' from generate_series(1, ${hotels})`,
  )
  await pool.query(
    `insert into mapping (partner_id, company_id, submission_id) select 'H-' || company_key, company_id, $1 from company`,
    [submissionId],
  )
  await pool.query(`
    insert into calculator (calculator_id, company_key, type_id, title, period_year)
    select gen_random_uuid(), company_key, gen_random_uuid(), 'Energy', 2000 + n
    from company, generate_series(1, ${calculatorsEach}) n`)
  const id = spellings === 1 ? `'v' || n` : `case when n % 2 = 0 then 'v' || n else 'V' || n + 1 end`
  await pool.query(
    `insert into calculator_variable (variable_id, name) select ${id}, 'V' from generate_series(1, 500) n`,
  )
  await pool.query(`
    insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
    select company_key, calculator_key, n, 'i', '1' from calculator, generate_series(1, ${valuesEach}) n`)
  await pool.query('vacuum calculator_value')
  await pool.query('analyze calculator, calculator_variable, company, mapping')
  return submissionId
}

it.each([1, 2] as const)(
  'what a search returned is compared without a look through a table for each value, though the planner knows nothing of the values, with %d spellings',
  async (spellings) => {
    const submissionId = await storeSearch(spellings)
    const search = { submissionId, calculatorTypeIds: [] }
    const stage = `comparison, ${spellings}`
    const found = await during(stage, () =>
      createDatabase(pool)
        .transaction()
        .execute(async (trx) => {
          await stageInputs(trx, search, ['calculator_inputs'])
          await judgeInputs(trx, search)
          return await sql<{ unsent: number }>`select count(*)::integer as unsent from unsent_input`.execute(trx)
        }),
    )
    expect(found.rows).toEqual([{ unsent: values }])
    const ours = statements().filter((statement) => statement.stage === stage)
    expect(ours.length).toBeGreaterThan(8)
    // A look by key at each value is one visit; a look through all hotels or variables is hundreds.
    for (const { text, nested } of ours) expect([text, nested]).toEqual([text, Math.min(nested, 5 * values)])
  },
)
