import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type StreamName, streamNames } from '../../../src/config/schema.ts'
import { ourShape } from '../../../src/pipeline/streams/our-streams.ts'
import type { PartnerRow } from '../../../src/pipeline/streams/rules/row-content.ts'

function land(stream: StreamName, columns: PartnerRow) {
  const row = Object.fromEntries(ourShape(stream).columns.map((column) => [column, columns[column] ?? null]))
  return ourShape(stream).toRow(row, row.partner_id ?? '')
}

const answer = { partner_id: 'H-1', framework_id: 'f', year: '2025', data_point_id: 'd', value: '1' }

describe("a stream's row", () => {
  it("a stream's row is the same for a yearly period without a month and for one that begins in January", () => {
    for (const stream of ['framework_answers', 'omissions'] as const) {
      const unsaid = land(stream, { ...answer, question_id: 'q', period_type: 'Yearly' })
      expect(unsaid).toEqual(land(stream, { ...answer, question_id: 'q', period_type: 'Yearly', month: '1' }))
      expect(unsaid.content.month).toBe('1')
      expect(unsaid.rowKey).not.toBe(
        land(stream, { ...answer, question_id: 'q', period_type: 'Yearly', month: '7' }).rowKey,
      )
    }
  })

  it('keeps a monthly period without a month apart from January', () => {
    const unsaid = land('framework_answers', { ...answer, period_type: 'Monthly' })
    expect(unsaid.content).not.toHaveProperty('month')
    expect(unsaid.rowKey).not.toBe(land('framework_answers', { ...answer, period_type: 'Monthly', month: '1' }).rowKey)
  })

  it('keeps yearly calculator inputs apart from those of January, and folds those of one period', () => {
    const [a, b] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']
    const input = { partner_id: 'H-1', year: '2025', field_type_id: a, value: '1' }
    const yearly = land('calculator_inputs', input)
    expect(yearly.content).toEqual({ year: '2025', inputs: { [a]: '1' } })
    expect(yearly.rowKey).not.toBe(land('calculator_inputs', { ...input, month: '1' }).rowKey)
    expect(yearly.rowKey).toBe(land('calculator_inputs', { ...input, field_type_id: b }).rowKey)
    expect(ourShape('calculator_inputs').parts?.key).toBe('inputs')
  })

  it.each([null, '', 'electricity'])(
    'keeps an input of the field type %j apart from the others of its period',
    (bad) => {
      const good = '00000000-0000-4000-8000-00000000000a'
      const input = { partner_id: 'H-1', year: '2025', field_type_id: good, value: '1' }
      const spoilt = land('calculator_inputs', { ...input, field_type_id: bad })
      expect(spoilt.rowKey).not.toBe(land('calculator_inputs', input).rowKey)
    },
  )

  it('keeps a null input as null, so that it can remove what the ledger holds', () => {
    const { content } = land('calculator_inputs', { partner_id: 'H-1', year: '2025', field_type_id: '__proto__' })
    expect(JSON.stringify(content)).toBe('{"year":"2025","inputs":{"__proto__":null}}')
  })

  it.each(streamNames.filter((name) => name !== 'calculator_inputs'))('leaves nulls out of %s', (stream) => {
    expect(land(stream, { partner_id: 'H-1' }).content).toEqual({})
  })

  const keyColumns: Record<StreamName, string[]> = {
    properties: ['partner_id'],
    framework_answers: ['partner_id', 'framework_id', 'period_type', 'year', 'month', 'data_point_id'],
    omissions: ['partner_id', 'period_type', 'year', 'month', 'question_id'],
    calculator_inputs: ['partner_id', 'year', 'month'],
    calculator_settings: ['partner_id'],
    custom_property_values: ['partner_id', 'property_id'],
    standard_holders: ['partner_id', 'standard_id'],
  }

  it.each(streamNames)('a row of %s has a key of its own for ids with any characters', (stream) => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'",[]\\null '.split('')) }))
    const row = fc.record(
      Object.fromEntries(
        keyColumns[stream].map((column) => [column, column === 'partner_id' ? text : fc.option(text)]),
      ),
    )
    fc.assert(
      fc.property(row, row, (one: PartnerRow, other: PartnerRow) => {
        const same = keyColumns[stream].every((column) => one[column] === other[column])
        expect(land(stream, one).rowKey === land(stream, other).rowKey).toBe(same)
      }),
      { numRuns: 300 },
    )
  })
})
