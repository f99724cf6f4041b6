import { expect, test } from 'vitest'
import { profiles } from '../../src/sandbox/chaos/profiles.ts'
import { readPage, section } from './pages.ts'

const trouble = section(readPage('docs/sandbox.md'), 'Trouble')

test('docs/sandbox.md lists every profile of trouble with its usual share and what happens, but for the cases of a page', () => {
  const listed = [...trouble.matchAll(/^\| `([\w:-]+)` +\| +([\d.]+) +\| (.*?) +\|$/gm)].map(
    ([, name, share, what]) => ({
      name,
      what,
      share: Number(share),
    }),
  )
  expect(listed).toEqual(profiles.filter(({ name }) => !name.startsWith('malformed-page:')))
})
