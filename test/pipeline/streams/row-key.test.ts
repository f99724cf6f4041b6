import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isId } from '../../../src/pipeline/streams/rules/row-content.ts'

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

test('an id is what has the form of one, in capitals or in small letters', () => {
  const characters = fc.constantFrom(
    '0',
    '9',
    'a',
    'f',
    'A',
    'F',
    '-',
    'g',
    'G',
    '/',
    ':',
    '@',
    '`',
    'é',
    '\u0130',
    '\uff11',
  )
  const changed = fc
    .tuple(fc.uuid(), fc.boolean(), fc.array(fc.tuple(fc.nat(36), characters), { maxLength: 3 }))
    .map(([id, capitals, changes]) => {
      const made = (capitals ? id.toUpperCase() : id).split('')
      for (const [at, character] of changes) made[at] = character
      return made.join('')
    })
  fc.assert(
    fc.property(fc.oneof(changed, fc.string({ maxLength: 40 })), (text) => {
      expect(isId(text)).toBe(pattern.test(text))
    }),
    { numRuns: 2_000, examples: [[''], ['8D5B3A52-3d0e-4f5e-9a5e-6f0b1d0c2a11']] },
  )
  expect(isId(null)).toBe(false)
  expect(isId(undefined)).toBe(false)
})
