import { expect, test } from 'vitest'
import { some } from '../helpers/some.ts'
import { readPage, section } from './pages.ts'

test('every threat that SECURITY.md says something is done about names a test that shows it', () => {
  const rows = section(readPage('SECURITY.md'), 'What is done')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
  const without = some(rows).filter((row) => !/\]\(test\/[\w/-]+\.test\.ts\)[^|]*\|$/.test(row))
  expect(without).toEqual([])
})
