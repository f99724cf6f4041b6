import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Deps } from '../../../src/pipeline/deps.ts'
import type { Ferry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { declined, energy, type JudgedLedger, openJudgedLedger, row } from './judged-ledger.ts'

let table: JudgedLedger
let ferry: Ferry
let deps: Deps
beforeAll(async () => {
  table = await openJudgedLedger()
  ;({ ferry, deps } = table)
})
beforeEach(() => ferry.clear())
afterAll(() => table[Symbol.asyncDispose]())

const knowFramework = (title?: string) => table.knowFramework(title)
const judge = (changed?: Partial<Deps>) => table.judge(changed)
const reasons = () => table.reasons()
const accept = (...keys: string[]) => table.accept(...keys)
const warnings = async () =>
  (await ferry.ledger.pool.query('select row_key, warning, detail from row_warnings order by 1, 2')).rows

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

  it('warnings name no hotel for being sent again', async () => {
    for (const partner_id of ['H-1', 'h-1']) {
      await ferry.ledger.land('properties', [row(partner_id, { name: 'A' }, partner_id)])
      await judge()
      await accept(partner_id)
    }
    const before = await warnings()
    expect(before).toMatchObject([{ row_key: 'h-1', warning: 'partner_ids_alike' }])
    await table.sendAgain({ stream: 'properties', partnerId: 'H-1' })
    expect(await judge()).toMatchObject({ invalid: 0 })
    expect(await warnings()).toEqual(before)
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
