import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createPool } from '../../../src/db/database.ts'
import { finalTables } from '../../helpers/final-tables.ts'
import { testDatabase } from '../../helpers/postgres.ts'
import { some } from '../../helpers/some.ts'
import { bodyOf, calculator, company, type SampleCompany, samplePage } from '../../pipeline/pull/sample-page.ts'
import { type SearchDatabase, searchDatabase } from '../../pipeline/pull/search-database.ts'

const text = (path: string) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8')
const script = text('../../../config/citus.sql')
const standIn = text('stand-in.sql')

/** Runs the script as its head says: in one transaction. */
async function distribute(pool: pg.Pool, statements = script): Promise<void> {
  await pool.query(standIn)
  const client = await pool.connect()
  try {
    await client.query(`begin;\n${statements}\ncommit`)
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

async function migratedPool(): Promise<pg.Pool> {
  const { url } = await testDatabase()
  const pool = createPool(url, { max: 1, applicationName: 'citus', searchPath: 'nightferry', onIdleError: () => {} })
  onTestFinished(() => pool.end())
  return pool
}

test('on a migrated database the script leaves every key with the distribution column, and no key that leads elsewhere', async () => {
  const pool = await migratedPool()
  await distribute(pool)
  const { rows } = await pool.query(
    'select relation::text, kind, column_name from public.declared order by kind, relation::text',
  )
  const distributed = ['calculator', 'calculator_value', 'company', 'company_property', 'search_seen_company']
  const reference = ['calculator_variable', 'custom_property', 'mapping', 'page_listing']
  expect(rows).toEqual(
    expect.arrayContaining([
      ...distributed.map((relation) => ({ relation, kind: 'distributed', column_name: 'company_key' })),
      ...reference.map((relation) => ({ relation, kind: 'reference', column_name: null })),
    ]),
  )
  await expect(pool.query('select public.check_distribution()')).resolves.toBeDefined()
})

test('the script distributes every table that has a company_key', async () => {
  const pool = await migratedPool()
  await distribute(pool)
  const { rows } = await pool.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'nightferry'::regnamespace and c.relkind = 'r' and a.attname = 'company_key'
       and c.oid not in (select relation from public.declared where kind = 'distributed')`,
  )
  expect(rows, 'a table with a company_key that config/citus.sql forgets').toEqual([])
})

/** Without these statements the script must be refused: so each of them is needed, and the stand-in sees it. */
const needed = [
  {
    what: 'the primary key with the company in it',
    without: [
      /alter table calculator drop constraint calculator_pkey;/,
      /alter table calculator add constraint calculator_pkey .*\n/,
    ],
    refusal: 'calculator: the unique key calculator_pkey does not hold company_key',
  },
  {
    what: 'a calculator id that is unique only within its company',
    without: [
      /alter table calculator drop constraint calculator_calculator_id_key;/,
      /alter table calculator add constraint calculator_calculator_id_key .*\n/,
    ],
    refusal: 'calculator: the unique key calculator_calculator_id_key does not hold company_key',
  },
  {
    what: 'a company id that is not unique',
    without: [/alter table company drop constraint company_company_id_key;/],
    refusal: 'company: the unique key company_company_id_key does not hold company_key',
  },
  {
    what: 'dropping the foreign key of mappings',
    without: [/alter table mapping drop constraint .*\n/],
    refusal: 'mapping: the foreign key mapping_submission_id_fkey leads from a reference table to a local one',
  },
  {
    what: 'dropping the statistics over expressions',
    without: [/drop statistics .*\n/],
    refusal: 'calculator_value: has statistics over an expression',
  },
  {
    what: 'sequences in place of identity columns',
    without: [/do \$\$[\s\S]*?\n\$\$;/],
    refusal: 'calculator_variable: variable_key is an identity column of 32 bits',
  },
]

test.each(needed)('the stand-in for Citus refuses the script without $what', async ({ without, refusal }) => {
  const pool = await migratedPool()
  for (const statement of some(without)) expect(script).toMatch(statement)
  const rest = without.reduce((text, statement) => text.replace(statement, ''), script)
  await expect(distribute(pool, rest)).rejects.toMatchObject({ message: expect.stringContaining(refusal) })
  expect((await pool.query('select * from public.declared')).rows).toEqual([])
})

const first = [
  company('Hotel One', { fields: { region: ['North', 'Lakes'] } }),
  company('Hotel Two', { calculators: [calculator('two/1'), calculator('two/2', { period: { year: 2024 } })] }),
  company('Hotel Three'),
]
const changed = [
  company('Hotel One', {
    fields: { region: ['North'] },
    calculators: [calculator('Hotel One/1', { inputs: { electricity: '1' } })],
  }),
  company('Hotel Two', { calculators: [calculator('two/2', { period: { year: 2024 }, outputs: { water: '5' } })] }),
  company('Hotel Four'),
]

/** Loads a search, and another that found changes, and ends both. */
async function twoNights(database: SearchDatabase): Promise<object[]> {
  const counts: object[] = []
  for (const companies of [first, changed] as SampleCompany[][]) {
    const [page] = await database.search()
    if (page === undefined) throw new Error('no page')
    counts.push(await database.load(page, bodyOf(samplePage(companies))))
    counts.push(await database.finish(page.submission_id, { minSeenShare: 0.1 }))
  }
  return counts
}

test('a page that is loaded and loaded again, changed, gives the same rows on the altered tables as on unaltered ones', async () => {
  await using plain = await searchDatabase()
  await using altered = await searchDatabase()
  await distribute(altered.pool)
  expect(await twoNights(altered)).toEqual(await twoNights(plain))
  const tables = await finalTables(altered.pool)
  expect(tables).toEqual(await finalTables(plain.pool))
  expect(tables.calculator_values?.rows).toBeGreaterThan(4)
  expect(tables.companies?.rows).toBe(4)
})

test('keys go on where they were when the script runs on tables that hold rows', async () => {
  await using plain = await searchDatabase()
  await using altered = await searchDatabase()
  for (const database of [plain, altered]) {
    const [page] = await database.search()
    if (page === undefined) throw new Error('no page')
    await database.load(page, bodyOf(samplePage(first)))
  }
  await distribute(altered.pool)
  for (const database of [plain, altered]) await twoNights(database)
  expect(await finalTables(altered.pool)).toEqual(await finalTables(plain.pool))
  const { rows } = await altered.pool.query(
    'select max(company_key) < nextval(pg_get_serial_sequence($1, $2)) as free from company',
    ['nightferry.company', 'company_key'],
  )
  expect(rows).toEqual([{ free: true }])
})
