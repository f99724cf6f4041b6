import { expect, test } from 'vitest'
import { codesBehind } from '../../../../src/pipeline/delta/lookups/codes-behind.ts'

const lookup = (codes: Record<string, string>) => ({
  name: 'hotels',
  file: 'hotels.csv',
  digest: '',
  ids: new Map(Object.entries(codes)),
})

test('codes of hotels are found in whatever column a stream has the id of the hotel', () => {
  const hotels = lookup({ A: 'H-1', B: 'H-1', C: 'H-2' })
  const lookups = new Map([
    ['properties', new Map([['partner_id', hotels]])],
    ['targets', new Map([['hotel', hotels]])],
    // A column of that name which is not the one of the id is a column like any other.
    ['notes', new Map([['partner_id', hotels]])],
  ])
  const rows = [
    { stream: 'properties', content: { name: 'One' } },
    { stream: 'targets', content: { year: '2026' } },
    { stream: 'notes', content: { partner_id: 'H-2' } },
  ]
  const idColumns: Record<string, string> = { properties: 'partner_id', targets: 'hotel', notes: 'hotel' }
  const found = codesBehind('H-1', rows, lookups, (stream) => idColumns[stream] ?? '')
  expect(found.map(({ stream, column, id, codes }) => [stream, column, id, codes])).toEqual([
    ['properties', 'partner_id', 'H-1', ['A', 'B']],
    ['targets', 'hotel', 'H-1', ['A', 'B']],
    ['notes', 'partner_id', 'H-2', ['C']],
  ])
})
