import stringWidth from 'string-width'
import { expect, it } from 'vitest'
import { textWidth } from '../../src/cli/show/table.ts'

it.each([
  '',
  'H-0001 ~',
  '– 12',
  '─────',
  'and so on …',
  'Hôtel',
  'ホテル',
  '👩‍👩‍👧',
  'e\u0301',
  'a\u200bb',
  '\u001b[31mred\u001b[39m',
  '\t',
])('the width of %j is what a terminal takes for it', (text) => expect(textWidth(text)).toBe(stringWidth(text)))

it('every character that counts as one column without a look takes one', () => {
  const letters = Array.from({ length: 0x7f - 0x20 }, (_, place) => String.fromCharCode(0x20 + place))
  for (const character of [...letters, '–', '─', '…']) {
    expect([character, textWidth(character)]).toEqual([character, stringWidth(character)])
  }
})
