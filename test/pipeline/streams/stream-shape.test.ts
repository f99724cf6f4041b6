import fc from 'fast-check'
import { expect, it } from 'vitest'
import { landingOf } from '../../../src/pipeline/delta/staged-lines.ts'
import { shapeOf, streamNamesOf } from '../../../src/pipeline/streams/our-streams.ts'
import { contract } from '../../exchange/test-client.ts'
import { described } from '../push/generic/kinds.ts'

const kind = described({
  columns: ['a', 'hotel', 'b', 'c'],
  partnerId: 'hotel',
  key: ['c', 'a'],
  body: { list: 'l', element: {} },
})
const added = { ...contract, kinds: [kind] }
const land = (values: (string | null)[]) => landingOf(shapeOf(added, 'things'), values)

it('an added stream lands with the id from its own column, nulls left out', () => {
  expect(land(['1', 'H-1', null, 'x'])).toEqual({
    partnerId: 'H-1',
    rowKey: '["H-1","x","1"]',
    content: { a: '1', c: 'x' },
  })
  expect(streamNamesOf(added).at(-1)).toBe('things')
})

it('rows of an added stream have one key exactly if the id and the columns of the key are the same', () => {
  const value = fc.option(fc.constantFrom('', '"', '","', 'x', '[', 'null'))
  const row = fc.tuple(value, value, value, value)
  fc.assert(
    fc.property(row, row, (one, other) => {
      // A row without an id is invalid, and lands as one with an empty id.
      const keyOf = ([a, hotel, , c]: typeof one) => JSON.stringify([hotel ?? '', c, a])
      expect(land(one).rowKey === land(other).rowKey).toBe(keyOf(one) === keyOf(other))
    }),
    { numRuns: 500 },
  )
})

it('a stream of ours keeps its shape whatever the contract adds', () => {
  expect(shapeOf(added, 'calculator_inputs').parts?.key).toBe('inputs')
})
