import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillTables } from '../../bench/fill-tables.ts'
import { createPool } from '../../src/db/database.ts'
import { testDatabase } from '../helpers/postgres.ts'

let pool: pg.Pool
const calculators = 26_000

beforeAll(async () => {
  const { url } = await testDatabase()
  pool = createPool(url, { max: 1, applicationName: 'plans', searchPath: 'nightferry', onIdleError: () => {} })
  await fillTables(pool, { calculators })
})

afterAll(() => pool.end())

type Node = {
  'Node Type': string
  'Relation Name'?: string
  'Plan Rows': number
  'Actual Rows': number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Node[]
}

async function planOf(query: string): Promise<{ root: Node; nodes: Node[]; text: string }> {
  const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    `explain (analyze, verbose, buffers, timing off, format json) ${query}`,
  )
  const root = rows[0]?.['QUERY PLAN'][0].Plan
  if (root === undefined) throw new Error('no plan')
  const below = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(below)]
  return { root, nodes: below(root), text: JSON.stringify(root) }
}

/** Tables that grow with what the service has; names of variables and properties are few. */
const growing = ['company', 'company_property', 'calculator', 'calculator_value', 'mapping']

const company = `md5('company 77')::uuid`
const ofOneHotel = {
  'its company by its id here': `select * from companies where partner_id = 'H-0000077'`,
  'its company by the id at the service': `select * from companies where company_id = ${company}`,
  'its properties': `select * from company_properties join companies using (company_id) where partner_id = 'H-0000077'`,
  'its calculators': `select * from calculators join companies using (company_id) where partner_id = 'H-0000077'`,
  'its values of a year': `select period_month, variable_name, value from calculator_values join companies using (company_id)
    where partner_id = 'H-0000077' and period_year = 2025 and direction = 'output' order by variable_name, period_month`,
  'its values by the id at the service': `select * from calculator_values where company_id = ${company}`,
  'its sum of one variable': `select sum(value_numeric) from calculator_values
    where company_id = ${company} and variable_name = 'Total (kg CO2e)' and direction = 'output'`,
  'the values of one calculator': `select * from calculator_values where calculator_id = md5('calculator 77/3')::uuid`,
}

describe('a question about one hotel reads no whole table', () => {
  test.each(Object.entries(ofOneHotel))('%s', async (_, query) => {
    const { root, nodes } = await planOf(query)
    expect(root['Actual Rows']).toBeGreaterThan(0)
    const whole = nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'] ?? '')
    expect(whole.filter((name) => growing.includes(name))).toEqual([])
    // 468,000 values are about 4,700 blocks; the values of one hotel are a handful.
    expect(root['Shared Hit Blocks'] + root['Shared Read Blocks']).toBeLessThan(2_000)
  })
})

test('the numeric reading is worked out in place, and not at all where nobody asks for it', async () => {
  const asked = await planOf('select value_numeric from calculator_values')
  expect(asked.text).not.toMatch(/numeric_reading/)
  expect(asked.text).toMatch(/::numeric/)
  expect((await planOf('select value from calculator_values')).text).not.toMatch(/numeric/)
})

const estimated = {
  'all values': 'select * from calculator_values',
  outputs: `select * from calculator_values where direction = 'output'`,
  'values that are no numbers': 'select * from calculator_values where value_numeric is null',
  'one variable': `select * from calculator_values where direction = 'output' and variable_name = 'Total (kg CO2e)'`,
  'all companies': 'select * from companies',
}

test.each(Object.entries(estimated))('the planner expects %s within a factor of fifty', async (_, query) => {
  const { root } = await planOf(query)
  expect(root['Actual Rows']).toBeGreaterThan(1_000)
  expect(root['Plan Rows'] * 50).toBeGreaterThan(root['Actual Rows'])
  expect(root['Plan Rows']).toBeLessThan(root['Actual Rows'] * 50)
})

test('a company has the partner id that was mapped last, of several at once the first in order, and none without one', async () => {
  await pool.query('begin')
  try {
    await pool.query(
      'delete from mapping where company_id in (select company_id from company where company_key <= 300)',
    )
    await pool.query(
      `insert into mapping (partner_id, company_id, submission_id, mapped_at)
       select 'again ' || n, (select company_id from company where company_key = 1 + n % 290), (select max(submission_id) from submission),
              timestamptz '2026-01-01' + n * 7 % 5 * interval '1 day'
       from generate_series(1, 1000) n`,
    )
    const { rows } = await pool.query(
      `select count(*) filter (where v.partner_id is distinct from m.partner_id)::integer as wrong,
              count(*) filter (where v.partner_id is null)::integer as unmapped, count(*)::integer as companies
       from companies v left join lateral (
         select partner_id from mapping where mapping.company_id = v.company_id order by mapped_at desc, partner_id limit 1
       ) m on true`,
    )
    expect(rows).toEqual([{ wrong: 0, unmapped: 10, companies: calculators / 13 }])
  } finally {
    await pool.query('rollback')
  }
})
