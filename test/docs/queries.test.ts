import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase } from '../helpers/postgres.ts'
import { firstCells, markdownPages, readPage, section } from './pages.ts'

let client: pg.Client

beforeAll(async () => {
  const { url } = await testDatabase({ template: 'migrated' })
  client = new pg.Client({ connectionString: url, options: '-c search_path=nightferry' })
  await client.connect()
})

afterAll(() => client.end())

const queries = markdownPages().flatMap(({ path, text }) =>
  [...text.matchAll(/```sql\n([\s\S]*?)```/g)].map((match) => ({ path, query: match[1] ?? '' })),
)

test('the pages hold queries to check', () => {
  expect(queries.length).toBeGreaterThan(10)
})

test.each(queries)('$path holds a query that the database understands: $query', async ({ query }) => {
  await expect(client.query(`explain ${query}`)).resolves.toBeDefined()
})

const views = [
  'webhook_events',
  'application_events',
  'applications',
  'companies',
  'company_properties',
  'calculators',
  'calculator_variables',
  'calculator_values',
  'value_changes',
  'calculator_value_history',
  'name_changes',
  'actions',
  'documents',
  'ledger',
  'drift',
  'differences',
  'not_renewed',
  'removals',
  'input_differences',
  'rows_without_cursor',
  'releases',
  'reference_changes',
  'row_warnings',
  'destinations',
  'mapping_changes',
]

test.each(views)('docs/tables.md lists the columns of the view %s in their order', async (view) => {
  const { rows } = await client.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_schema = 'nightferry' and table_name = $1 order by ordinal_position`,
    [view],
  )
  expect(firstCells(section(readPage('docs/tables.md'), view))).toEqual(rows.map(({ name }) => name))
})

test('docs/tables.md lists every verb that leaves an action', () => {
  const { text } = readPage('src/db/tables/run-tables.ts')
  const verbs = /actionVerbs = \[((?:\s*'[\w-]+',)+)/.exec(text)?.[1]?.match(/[\w-]+/g) ?? []
  expect(verbs.length).toBeGreaterThan(10)
  const [row = ''] = /^\| `verb` .*$/m.exec(section(readPage('docs/tables.md'), 'actions')) ?? []
  const named = [...row.matchAll(/`([^`]+)`/g)].map(([, word]) => word)
  expect(new Set(named)).toEqual(new Set(['verb', ...verbs]))
})

test('docs/tables.md describes every view of the schema', async () => {
  const { rows } = await client.query<{ name: string }>(
    `select table_name as name from information_schema.views where table_schema = 'nightferry'`,
  )
  expect(views.toSorted()).toEqual(rows.map(({ name }) => name).sort())
})
