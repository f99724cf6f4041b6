import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { entityPicture } from './entity-picture.ts'
import { readPage } from './pages.ts'
import { describedColumns } from './view-columns.ts'

let world: World
/** The last year that the sandbox shows whole: what the pages call 2025. */
let lastYear: number

/**
 * Two nights of the sandbox; between them a month vanishes there, a calculator loses its results, and one holds words.
 */
beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels: 4 })
  await night()
  const { rows } = await world.pool.query<{ year: number; ids: string[] }>(
    `select year, array_agg(id order by id) as ids
     from (
       select period_year as year, min(calculator_id::text) as id from calculators join companies using (company_id)
       where period_month = 12 and partner_id is not null group by period_year, company_id
     ) one_of_each
     group by year order by year desc limit 1`,
  )
  lastYear = rows[0]?.year ?? 0
  const [vanished, uncomputed, worded] = rows[0]?.ids ?? []
  const atService = (query: string, id?: string) => world.sandboxPool.query(query, [id])
  await atService(
    `delete from sandbox.calculator k using sandbox.calculator one
     where one.id = $1 and (k.company_id, k.year, k.month) = (one.company_id, one.year, one.month)`,
    vanished,
  )
  await atService(`update sandbox.calculator set outputs = '{}' where id = $1`, uncomputed)
  await atService(
    `update sandbox.calculator set inputs = (select jsonb_object_agg(key, 'not metered') from jsonb_each(inputs)) where id = $1`,
    worded,
  )
  await night()
}, 180_000)

afterAll(() => world[Symbol.asyncDispose]())

async function night(): Promise<void> {
  await using folder = await workingFolder()
  const { code, stderr } = await nightferry(
    folder.path,
    ['run', 'nightly-sync', '--json', '--config', demoConfig],
    world.environment(),
  )
  // The second night finds that inputs differ from what was sent: that is its purpose.
  expect([0, 3], stderr).toContain(code)
}

const sections = [...readPage('docs/queries.md').text.matchAll(/^## (.+)\n[\s\S]*?```sql\n([\s\S]*?)```/gm)].map(
  ([, title = '', query = '']) => ({ title, query }),
)

describe('docs/queries.md', () => {
  test('has a query under every heading', () => {
    expect(sections.length).toBeGreaterThanOrEqual(10)
    expect(sections.map(({ title }) => title)).toEqual(
      [...readPage('docs/queries.md').text.matchAll(/^## (.+)$/gm)].map((match) => match[1]),
    )
  })

  test.each(sections)('finds rows in two nights of the sandbox: $title', async ({ query }) => {
    const ofThisWorld = query.replaceAll('2025', String(lastYear)).replaceAll('2024', String(lastYear - 1))
    const { rows } = await world.pool.query<Record<string, unknown>>(ofThisWorld)
    expect(rows).not.toEqual([])
    for (const column of some(Object.keys(rows[0] ?? {}))) {
      expect(
        rows.filter((row) => row[column] !== null),
        `${column} is null in every row`,
      ).not.toEqual([])
    }
  })

  test('has sums that are those of the rows', async () => {
    const series = sections.find(({ title }) => title.startsWith('A monthly series'))?.query ?? ''
    const { rows } = await world.pool.query<
      Record<'period_month' | 'months' | 'value_numeric' | 'sum_of_months', string>
    >(series.replaceAll('2025', String(lastYear)))
    const months = rows.filter(({ period_month }) => period_month !== null)
    expect(months.length).toBe(Number(months[0]?.months))
    const sum = months.reduce((total, { value_numeric }) => total + Number(value_numeric), 0)
    expect(Number(months[0]?.sum_of_months)).toBeCloseTo(sum, 3)
  })
})

describe('the entity picture in docs/tables.md', () => {
  const { relations } = entityPicture()

  test.each(relations)(
    'the entity picture in docs/tables.md is right that every row of $many belongs to one of $one',
    async ({ one, many, columns, optional }) => {
      const { rows } = await world.pool.query<{ rows: number; orphans: number; doubled: number }>(
        `select count(*)::integer as rows,
              count(*) filter (where found = 0 and not missing)::integer as orphans,
              count(*) filter (where found > 1)::integer as doubled
       from (
         select num_nulls(${columns.map((column) => `m.${column}`).join(', ')}) > 0 as missing,
                (select count(*) from ${one} o where ${columns.map((column) => `o.${column} = m.${column}`).join(' and ')}) as found
         from ${many} m
       ) counted`,
      )
      expect(rows[0]).toMatchObject({ doubled: 0, ...(!optional && { orphans: 0 }) })
    },
  )
})

test('no column that docs/tables.md calls never null is null in two nights of the sandbox', async () => {
  const { rows: views } = await world.pool.query<{ name: string }>(
    `select table_name as name from information_schema.views where table_schema = 'nightferry'`,
  )
  const nulls: string[] = []
  for (const { name: view } of views) {
    for (const { name, whenNull } of describedColumns(view)) {
      if (whenNull !== 'never') continue
      const { rowCount } = await world.pool.query(`select from ${view} where ${name} is null limit 1`)
      if (rowCount !== 0) nulls.push(`${view}.${name}`)
    }
  }
  expect(nulls).toEqual([])
})
