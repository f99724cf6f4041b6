import { expect, test } from 'vitest'
import { judgeLookup } from '../../src/doctor/lookup-checks.ts'

const judged = (codes: Record<string, string>) => {
  const lookup = { name: 'meters', file: 'meters.csv', digest: '', ids: new Map(Object.entries(codes)) }
  const config = { file: '/etc/meters.csv', code: 'code', id: 'id', separator: ',' } as const
  return judgeLookup(lookup, config, ['field_type_id of calculator_inputs'])
}

test('a lookup whose codes stand for an id each is well, with its file, its size and its use', () => {
  expect(judged({ a: '1', b: '2' })).toEqual([
    {
      level: 'ok',
      what: '/etc/meters.csv has 2 codes, for field_type_id of calculator_inputs',
      todo: null,
      subject: 'meters',
    },
  ])
})

test('several codes for one id are advice, because rows that differ in nothing else are one', () => {
  const [, shared] = judged({ a: '1', b: '1', c: '2', d: '2', e: '3', f: '3', g: '4', h: '4', i: '5' })
  expect(shared).toMatchObject({ level: 'advice', subject: 'meters' })
  expect(shared?.what).toContain('several codes stand for one id: 1 (a, b), 2 (c, d), 3 (e, f), and 1 more. Rows')
})
