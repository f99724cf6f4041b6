import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Ferry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { declined, energy, type JudgedLedger, openJudgedLedger, row } from './judged-ledger.ts'

let table: JudgedLedger
let ferry: Ferry
beforeAll(async () => {
  table = await openJudgedLedger()
  ferry = table.ferry
})
beforeEach(() => ferry.clear())
afterAll(() => table[Symbol.asyncDispose]())

describe('two partner ids of one company', () => {
  const lettered = 'abcdefab-0000-4000-8000-000000000009'
  const inputs = (named: Record<string, string | null>) => ({ year: '2025', inputs: named })

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
    await table.mapTogether('H-1', 'H-2', 'H-3')
    await table.knowFramework()
    await ferry.ledger.land(stream, [row('one', one), row('two', two, 'H-2'), row('alike', one, 'H-4')])
    expect(await table.judge()).toMatchObject({ contradicting: 2 })
    expect(await table.reasons()).toEqual({
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
    await table.mapTogether('H-1', 'H-2')
    await ferry.ledger.land(stream, [row('one', one), row('two', two, 'H-2')])
    expect(await table.judge()).toMatchObject({ contradicting: 0 })
  })

  it.each<[string, Record<string, unknown>, string, string]>([
    ['contradict each other', declined, 'declines', 'answers'],
    ['contradict each other, also where the answer was accepted,', declined, '', 'answers'],
    ['do not', { ...declined, year: '2024' }, '', ''],
  ])(
    'two partner ids of one company %s where one answers what the other declines',
    async (_, other, answers, declines) => {
      await table.mapTogether('H-1', 'H-2')
      await table.knowFramework()
      await ferry.ledger.land('framework_answers', [row('answer', energy), row('answer of another', energy, 'H-3')])
      if (answers === '') {
        await table.judge()
        await table.accept('answer')
      }
      await ferry.ledger.land('omissions', [row('omission', other, 'H-2')])
      await table.judge()
      const fault = (hotel: string, words: string) =>
        words === '' ? null : expect.stringMatching(`^${hotel} is confirmed for the same company and ${words} `)
      expect(await table.reasons()).toEqual({
        answer: fault('H-2', answers),
        omission: fault('H-1', declines),
        'answer of another': null,
      })
    },
  )

  it('two partner ids of one company that are parted may answer and decline one question', async () => {
    await table.mapTogether('H-1', 'H-2')
    await table.knowFramework()
    await ferry.ledger.land('omissions', [row('omission', declined, 'H-2')])
    await ferry.ledger.land('framework_answers', [row('answer', energy)])
    expect(await table.judge()).toMatchObject({ contradicting: 2 })
    await ferry.ledger.db.deleteFrom('mapping').where('partner_id', '=', 'H-2').execute()
    expect(await table.judge()).toMatchObject({ contradicting: 0 })
    expect(await table.reasons()).toEqual({ answer: null, omission: null })
  })

  it.each<[string, string, Record<string, unknown>, Record<string, unknown>]>([
    ['an input', 'calculator_inputs', inputs({ [ids.field]: null }), inputs({ [ids.field]: '5' })],
    ['white space', 'calculator_inputs', inputs({ [ids.field]: ' \t' }), inputs({ [ids.field]: '5' })],
    [
      'a name in capitals',
      'calculator_inputs',
      inputs({ [lettered]: null }),
      inputs({ [lettered.toUpperCase()]: '5' }),
    ],
    [
      'a property value',
      'custom_property_values',
      { property_id: ids.brand, value: '' },
      { property_id: ids.brand, value: 'A' },
    ],
  ])(
    'two partner ids of one company: %s that is blank is at fault alone, and the value goes',
    async (_, stream, blank, given) => {
      await table.mapTogether('H-1', 'H-2')
      await ferry.ledger.land(stream, [row('blank', blank), row('given', given, 'H-2')])
      expect(await table.judge()).toMatchObject({ contradicting: 1 })
      const fault = expect.stringMatching(
        /^H-2 is confirmed for the same company and has a value .* blank.* \(row given\)/,
      )
      expect(await table.reasons()).toEqual({ blank: fault, given: null })
    },
  )

  it('two partner ids of one company: a blank that comes after the value was accepted is at fault', async () => {
    await table.mapTogether('H-1', 'H-2')
    await ferry.ledger.land('calculator_inputs', [row('given', inputs({ [ids.field]: '5' }), 'H-2')])
    await table.judge()
    await table.accept('given')
    await ferry.ledger.land('calculator_inputs', [row('blank', inputs({ [ids.field]: null }))])
    expect(await table.judge()).toMatchObject({ contradicting: 1 })
    expect(await table.reasons()).toEqual({ blank: expect.stringContaining('row given'), given: null })
  })

  it('two partner ids of one company: a value that comes after a blank was accepted goes', async () => {
    await table.mapTogether('H-1', 'H-2')
    await ferry.ledger.land('calculator_inputs', [row('blank', inputs({ [ids.field]: null }))])
    await table.judge()
    await table.accept('blank')
    await ferry.ledger.land('calculator_inputs', [row('given', inputs({ [ids.field]: '5' }), 'H-2')])
    expect(await table.judge()).toMatchObject({ contradicting: 0 })
  })

  it('two partner ids of one company: a blank is compared with what came since when it is sent again', async () => {
    await table.mapTogether('H-1', 'H-2')
    await ferry.ledger.land('calculator_inputs', [row('blank', inputs({ [ids.field]: null }))])
    await table.judge()
    await table.accept('blank')
    await ferry.ledger.land('calculator_inputs', [row('given', inputs({ [ids.field]: '5' }), 'H-2')])
    await table.judge()
    await table.accept('given')
    await table.sendAgain({ partnerId: 'H-1' })
    expect(await table.judge()).toMatchObject({ contradicting: 1 })
    expect(await table.reasons()).toEqual({ blank: expect.stringContaining('row given'), given: null })
  })

  it.each<[string, string | null, string | null]>([
    ['contradict each other where they differ', '1', '2'],
    ['agree where they say the same', '1', '1'],
    ['agree where both are blank', null, ' '],
  ])('two partner ids of one company whose input is named in capitals and not %s', async (_, one, two) => {
    await table.mapTogether('H-1', 'H-2')
    await ferry.ledger.land('calculator_inputs', [
      row('one', inputs({ [lettered]: one })),
      row('two', inputs({ [lettered.toUpperCase()]: two }), 'H-2'),
    ])
    expect(await table.judge()).toMatchObject({ contradicting: one === '1' && two === '2' ? 2 : 0 })
  })

  it('two partner ids of one company: an input that was taken back in its other spelling is no blank', async () => {
    await table.mapTogether('H-1', 'H-2')
    await ferry.ledger.land('calculator_inputs', [
      row('one', inputs({ [lettered]: null, [lettered.toUpperCase()]: '5' })),
      row('two', inputs({ [lettered]: '5' }), 'H-2'),
    ])
    expect(await table.judge()).toMatchObject({ contradicting: 0 })
  })

  it('two partner ids of one company that each lack what the other says are both at fault', async () => {
    await table.mapTogether('H-1', 'H-2')
    await ferry.ledger.land('calculator_inputs', [
      row('one', inputs({ [ids.field]: null, [ids.otherField]: '1' })),
      row('two', inputs({ [ids.field]: '1', [ids.otherField]: null }), 'H-2'),
    ])
    expect(await table.judge()).toMatchObject({ contradicting: 2 })
  })

  it('two partner ids of one company are released when one is confirmed for another company', async () => {
    await table.mapTogether('H-1', 'H-2')
    const settings = (value: string) => ({ automatic_publishing: value })
    await ferry.ledger.land('calculator_settings', [row('one', settings('true')), row('two', settings('false'), 'H-2')])
    await table.judge()
    await sql`update mapping set company_id = ${ids.group} where partner_id = 'H-2'`.execute(ferry.ledger.db)
    expect(await table.judge()).toMatchObject({ judged: 2, invalid: 0 })
  })
})
