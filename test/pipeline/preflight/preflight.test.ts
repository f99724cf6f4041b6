import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { judgeRows } from '../../../src/pipeline/preflight/preflight.ts'
import { keepReferenceData } from '../../../src/pipeline/reference/fetch-reference-data.ts'
import { storableDocuments } from '../../../src/pipeline/reference/store-reference-data.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { dataPoint, ids } from '../push/rows.ts'

/** Nothing is called there. */
const nowhere = 'http://127.0.0.1:9'

let ferry: Ferry
let deps: ReturnType<Ferry['deps']>
beforeAll(async () => {
  ferry = await openFerry()
  deps = ferry.deps(nowhere)
})
beforeEach(() => ferry.clear())
afterAll(async () => {
  await deps[Symbol.asyncDispose]()
  await ferry.close()
})

const year = { period_type: 'Yearly', year: '2025', month: '1' }
const energy = { ...year, data_point_id: ids.number, value: '1', unit_id: ids.unit }
const declined = { ...year, question_id: ids.question }
const row = (row_key: string, content: Record<string, unknown>, partner_id = 'H-1') => ({
  partner_id,
  row_key,
  content,
})

async function knowFramework(title = 'Responsible Hotel'): Promise<void> {
  const framework = {
    id: ids.framework,
    title,
    questionIds: [ids.question],
    dataPoints: [dataPoint(ids.number), dataPoint(ids.list)],
    titles: {},
    raw: null,
  }
  const other = { ...framework, id: ids.otherFramework, title: 'Living Coast' }
  const documents = storableDocuments({ unit_type: [], group: [], custom_property: [], framework: [framework, other] })
  await ferry.ledger.inTransaction((trx) => keepReferenceData(deps, trx, documents, null))
}

const judge = (changed: Partial<Deps> = {}) => judgeRows({ ...deps, ...changed }, new Date())
async function reasons(): Promise<Record<string, string | null>> {
  const rows = await ferry.ledger.db.selectFrom('ledger').selectAll().orderBy('row_key').execute()
  expect(rows.filter((one) => one.accepted_hash === null && one.gone_at === null && one.checked_hash === null)).toEqual(
    [],
  )
  return Object.fromEntries(rows.map(({ row_key, invalid_reason }) => [row_key, invalid_reason]))
}
const warnings = async () =>
  (await ferry.ledger.pool.query('select row_key, warning, detail from row_warnings order by 1, 2')).rows

async function accept(...keys: string[]): Promise<void> {
  await sql`
    update acceptance set accepted_hash = wanted_hash
    where row_id in (select row_id from source_row where row_key = any(${keys}::text[]))`.execute(ferry.ledger.db)
}

async function mapBoth(...partnerIds: string[]): Promise<void> {
  const runId = await ferry.ledger.startRun()
  for (const partner_id of partnerIds) {
    await sql`
      with mapped as (
        insert into submission (run_id, kind, state, row_count) values (${runId}, 'company_mappings', 'settled', 1)
        returning submission_id
      )
      insert into mapping (partner_id, company_id, submission_id) select ${partner_id}, ${ids.company}, submission_id from mapped`.execute(
      ferry.ledger.db,
    )
  }
}

describe('preflight judges', () => {
  it('what is new or changed, and nothing else', async () => {
    await knowFramework()
    await ferry.ledger.land('framework_answers', [row('a', energy), row('b', { ...energy, month: '2', value: 'many' })])
    expect(await judge()).toEqual({ judged: 2, invalid: 1, contradicting: 0 })
    expect(await judge()).toEqual({ judged: 0, invalid: 0, contradicting: 0 })
    await ferry.ledger.land('framework_answers', [row('b', { ...energy, month: '2', value: '2' })])
    expect(await judge()).toEqual({ judged: 1, invalid: 0, contradicting: 0 })
    expect(await reasons()).toEqual({ a: null, b: null })
  })

  it('everything that is pending again when the reference data say something else, and nothing accepted', async () => {
    await knowFramework()
    await ferry.ledger.land('framework_answers', [row('a', energy), row('b', { ...energy, month: '2' })])
    await judge()
    await accept('a')
    await knowFramework('Renamed')
    expect(await judge()).toMatchObject({ judged: 1 })
    await knowFramework('Renamed')
    expect(await judge()).toMatchObject({ judged: 0 })
  })

  it('everything that is pending again when a rule of ours changes, both ways', async () => {
    await ferry.ledger.land('properties', [row('p', { name: 'A rather long name' })])
    const strict = { config: { ...deps.config, push: { ...deps.config.push, maxTextLength: 5 } } }
    expect(await judge()).toMatchObject({ judged: 1, invalid: 0 })
    expect(await judge(strict)).toMatchObject({ judged: 1, invalid: 1 })
    expect(await reasons()).toMatchObject({ p: expect.stringContaining('push.maxTextLength allows 5') })
    expect(await judge()).toMatchObject({ judged: 1, invalid: 0 })
  })

  it('a row that is gone once, without a word, and never reads it again', async () => {
    await ferry.ledger.land('properties', [row('H-1', { name: 'A' }), row('H-2', { name: 'B' })])
    await sql`update source_row set gone_at = now() where row_key = 'H-2'`.execute(ferry.ledger.db)
    expect(await judge()).toMatchObject({ judged: 1, invalid: 0 })
    const unread = await sql`select from ledger where pending and unjudged`.execute(ferry.ledger.db)
    expect(unread.rows).toEqual([])
    expect(await judge()).toMatchObject({ judged: 0 })
  })

  it('preflight judges as many rows of an earlier basis as there are, in batches', async () => {
    const many = Array.from({ length: 4_500 }, (_, index) => row(`${index}`, { name: 'A' }, `H-${index}`))
    await ferry.ledger.land('properties', many)
    expect(await judge()).toMatchObject({ judged: 4_500 })
    await knowFramework()
    expect(await judge()).toMatchObject({ judged: 4_500 })
  })
})

describe('an answer and an omission of the same question', () => {
  const both = async () => {
    await ferry.ledger.land('framework_answers', [row('a', energy)])
    await ferry.ledger.land('omissions', [row('o', declined)])
  }

  it('an answer and an omission of the same question are invalid, and each names the other', async () => {
    await knowFramework()
    await both()
    expect(await judge()).toMatchObject({ contradicting: 2, invalid: 2 })
    expect(await reasons()).toEqual({
      a: expect.stringMatching(/^its question .* is declined for the same period \(row o of omissions\)/),
      o: expect.stringMatching(
        /^the question is answered for the same period: .* is '1' \(row a of framework_answers\)/,
      ),
    })
    expect(await judge()).toMatchObject({ judged: 0, contradicting: 0 })
  })

  it('an answer and an omission of the same question are both right for another period, another hotel, or another question', async () => {
    await knowFramework()
    await ferry.ledger.land('framework_answers', [
      row('a', energy),
      row('month', { ...energy, month: '2' }),
      row('other', energy, 'H-2'),
    ])
    await ferry.ledger.land('omissions', [row('o', { ...declined, year: '2024' }), row('x', declined, 'H-3')])
    expect(await judge()).toMatchObject({ contradicting: 0, invalid: 0 })
  })

  it('leave the accepted one alone: the newcomer is invalid', async () => {
    await knowFramework()
    await ferry.ledger.land('framework_answers', [row('a', energy)])
    await judge()
    await accept('a')
    await ferry.ledger.land('omissions', [row('o', declined)])
    expect(await judge()).toMatchObject({ judged: 1, invalid: 1 })
    expect(await reasons()).toMatchObject({ a: null, o: expect.stringContaining('row a of framework_answers') })
  })

  it('make a row invalid that was valid before the other came', async () => {
    await knowFramework()
    await ferry.ledger.land('omissions', [row('o', declined)])
    await judge()
    await ferry.ledger.land('framework_answers', [row('a', energy)])
    expect(await judge()).toMatchObject({ judged: 2, invalid: 2 })
  })

  it.each([
    ['changes', () => ferry.ledger.land('omissions', [row('o', { ...declined, year: '2023' })])],
    ['is gone', () => sql`update source_row set gone_at = now() where row_key = 'o'`.execute(ferry.ledger.db)],
  ])('an answer and an omission of the same question are released when the other %s', async (_, fix) => {
    await knowFramework()
    await both()
    await judge()
    await fix()
    await judge()
    expect(await reasons()).toMatchObject({ a: null })
  })

  it('an answer and an omission of the same question are found again when one that was gone is back', async () => {
    await knowFramework()
    await both()
    await judge()
    await sql`update source_row set gone_at = now() where row_key = 'o'`.execute(ferry.ledger.db)
    await judge()
    // As landing does it: a row that is there again is judged again.
    await sql`
      with returned as (update source_row set gone_at = null where row_key = 'o' returning row_id)
      update acceptance set checked_hash = null where row_id in (select row_id from returned)`.execute(ferry.ledger.db)
    await judge()
    expect(await reasons()).toEqual({ a: expect.any(String), o: expect.any(String) })
  })
})

describe('one data point under two frameworks', () => {
  const [one, two] = [
    { ...energy, framework_id: ids.framework },
    { ...energy, framework_id: ids.otherFramework },
  ]

  it('one data point under two frameworks is invalid on both sides when the values differ, and says which', async () => {
    await knowFramework()
    await ferry.ledger.land('framework_answers', [row('one', one), row('two', { ...two, value: '2' })])
    expect(await judge()).toMatchObject({ contradicting: 2 })
    expect(await reasons()).toMatchObject({
      one: expect.stringContaining(`is '1' here and '2' under framework ${ids.otherFramework}`),
      two: expect.stringContaining(`is '2' here and '1' under framework ${ids.framework}`),
    })
  })

  it('one data point under two frameworks is right when the values are the same number, however it is written', async () => {
    await knowFramework()
    await ferry.ledger.land('framework_answers', [
      row('one', one),
      row('two', { ...two, value: '1.0', unit_id: ids.unit.toUpperCase() }),
    ])
    expect(await judge()).toMatchObject({ contradicting: 0, invalid: 0 })
  })
})

describe('one data point with its id in capitals and in small letters', () => {
  it.each([
    ['contradicts itself when the values differ', '2', 2],
    ['does not when the values are the same', '1', 0],
  ])('one data point with its id in capitals and in small letters %s', async (_, value, contradicting) => {
    await knowFramework()
    const point = 'abcdefab-0000-4000-8000-000000000006'
    const [small, capital] = [
      { ...energy, data_point_id: point },
      { ...energy, data_point_id: point.toUpperCase(), value },
    ]
    await ferry.ledger.land('framework_answers', [row('one', small), row('two', capital)])
    expect(await judge()).toMatchObject({ contradicting })
  })
})

describe.each([
  ['custom_property_values', { property_id: 'abcdefab-0000-4000-8000-000000000007', value: 'A' }, { value: 'B' }],
  ['standard_holders', { standard_id: 'abcdefab-0000-4000-8000-000000000008', level: 'Gold' }, { level: 'Silver' }],
])('two rows of %s with their id in capitals and in small letters', (stream, small, different) => {
  const capital = Object.fromEntries(
    Object.entries(small).map(([name, value]) => [name, name.endsWith('_id') ? value.toUpperCase() : value]),
  )

  it('two spellings of one id contradict each other where the rows differ, and not once they agree', async () => {
    await ferry.ledger.land(stream, [row('one', small), row('two', { ...capital, ...different })])
    await ferry.ledger.land(stream, [row('other hotel', { ...small, ...different }, 'H-2')])
    expect(await judge()).toMatchObject({ contradicting: 2, invalid: 2 })
    expect(await reasons()).toEqual({
      'other hotel': null,
      one: expect.stringMatching(/than row two, whose id is the same/),
      two: expect.stringMatching(/than row one, whose id is the same/),
    })
    await ferry.ledger.land(stream, [row('two', capital)])
    expect(await judge()).toMatchObject({ contradicting: 0, invalid: 0 })
  })

  it('two spellings of one id make the newcomer invalid alone where the other was accepted', async () => {
    await ferry.ledger.land(stream, [row('one', small)])
    await judge()
    await accept('one')
    await ferry.ledger.land(stream, [row('two', { ...capital, ...different })])
    expect(await judge()).toMatchObject({ contradicting: 1 })
    expect(await reasons()).toMatchObject({ one: null, two: expect.any(String) })
  })
})

describe('two partner ids of one company', () => {
  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['framework_answers', energy, { ...energy, value: '2' }],
    ['custom_property_values', { property_id: ids.brand, value: 'A' }, { property_id: ids.brand, value: 'B' }],
    ['standard_holders', { standard_id: ids.standard, level: 'Gold' }, { standard_id: ids.standard, level: 'Silver' }],
    ['calculator_settings', { automatic_publishing: 'true' }, { automatic_publishing: 'false' }],
    [
      'calculator_inputs',
      { year: '2025', inputs: { [ids.field]: '1', [ids.otherField]: '1' } },
      { year: '2025', inputs: { [ids.field]: '2' } },
    ],
  ])('contradict each other where their rows of %s differ', async (stream, one, two) => {
    await mapBoth('H-1', 'H-2', 'H-3')
    await knowFramework()
    await ferry.ledger.land(stream, [row('one', one), row('two', two, 'H-2'), row('alike', one, 'H-4')])
    expect(await judge()).toMatchObject({ contradicting: 2 })
    expect(await reasons()).toEqual({
      alike: null,
      one: expect.stringMatching(/^H-2 is confirmed for the same company .* \(row two\)/),
      two: expect.stringMatching(/^H-1 is confirmed for the same company .* \(row one\)/),
    })
  })

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['framework_answers', energy, energy],
    ['framework_answers', energy, { ...energy, year: '2024' }],
    ['custom_property_values', { property_id: ids.brand, value: 'A' }, { property_id: ids.property, value: 'B' }],
    ['calculator_settings', { automatic_publishing: 'true' }, { automatic_yearly_calculation: 'false' }],
    [
      'calculator_inputs',
      { year: '2025', inputs: { [ids.field]: '1' } },
      { year: '2025', month: '1', inputs: { [ids.field]: '2' } },
    ],
  ])('do not where their rows of %s agree, or say different things', async (stream, one, two) => {
    await mapBoth('H-1', 'H-2')
    await ferry.ledger.land(stream, [row('one', one), row('two', two, 'H-2')])
    expect(await judge()).toMatchObject({ contradicting: 0 })
  })

  it('two partner ids of one company are released when one is confirmed for another company', async () => {
    await mapBoth('H-1', 'H-2')
    const settings = (value: string) => ({ automatic_publishing: value })
    await ferry.ledger.land('calculator_settings', [row('one', settings('true')), row('two', settings('false'), 'H-2')])
    await judge()
    await sql`update mapping set company_id = ${ids.group} where partner_id = 'H-2'`.execute(ferry.ledger.db)
    expect(await judge()).toMatchObject({ judged: 2, invalid: 0 })
  })
})

describe('warnings', () => {
  it('name partner ids that differ by case or surrounding white space alone, and let them through', async () => {
    const named = (partner_id: string) => row(partner_id, { name: 'A' }, partner_id)
    await ferry.ledger.land('properties', [named('H-1'), named('H-2')])
    await judge()
    await ferry.ledger.land('properties', [named(' h-1\t'), named('H-3')])
    expect(await judge()).toMatchObject({ judged: 2, invalid: 1 })
    await ferry.ledger.land('properties', [named('h-2 ')])
    expect(await judge()).toMatchObject({ judged: 1, invalid: 0 })
    expect(await warnings()).toEqual([
      { row_key: ' h-1\t', warning: 'partner_ids_alike', detail: expect.stringContaining("differs from 'H-1'") },
      { row_key: 'h-2 ', warning: 'partner_ids_alike', detail: expect.stringContaining("differs from 'H-2'") },
    ])
  })

  it('go when the row no longer deserves them', async () => {
    await ferry.ledger.land('properties', [row('p', { latitude: '0', longitude: '0' })])
    await judge()
    expect(await warnings()).toMatchObject([{ row_key: 'p', warning: 'coordinates_zero' }])
    await ferry.ledger.land('properties', [row('p', { latitude: '1', longitude: '0' })])
    await judge()
    expect(await warnings()).toEqual([])
  })
})
