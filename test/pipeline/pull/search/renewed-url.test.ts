import { expect, it } from 'vitest'
import { renewedUrl } from '../../../../src/pipeline/pull/look-at-page.ts'

const page = { url: 'https://files.example/b?expires=1', ordinal: 1 }

it.each([
  ['at its place', ['https://files.example/a?expires=2', 'https://files.example/b?expires=2'], 1],
  [
    'when the service lists them in another order',
    ['https://files.example/b?expires=2', 'https://files.example/a?e=2'],
    0,
  ],
  ['by its place when every path is new', ['https://files.example/x', 'https://files.example/y'], 1],
  [
    'by its place when pages differ in their query alone',
    ['https://files.example/b?page=0', 'https://files.example/b?page=1'],
    1,
  ],
])('renewedUrl finds the fresh address of a page %s', (_, pageUrls, wanted) => {
  expect(renewedUrl(page, pageUrls)).toBe(pageUrls[wanted])
})

it('renewedUrl keeps the address when the task lists none', () => {
  expect(renewedUrl(page, [])).toBe(page.url)
})
