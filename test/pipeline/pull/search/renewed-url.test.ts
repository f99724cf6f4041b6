import { expect, it } from 'vitest'
import { renewedUrl } from '../../../../src/pipeline/pull/look-at-page.ts'

const page = { url: 'https://files.example/b?expires=1', ordinal: 1 }

it.each([
  ['at its place', ['https://files.example/a?expires=2', 'https://files.example/b?expires=2'], 1, false],
  [
    'when the service lists them in another order',
    ['https://files.example/b?expires=2', 'https://files.example/a?e=2'],
    0,
    false,
  ],
  ['by its place when every path is new', ['https://files.example/x', 'https://files.example/y'], 1, true],
  ['when it is the only one and its path is new', ['https://files.example/x'], 0, false],
  [
    'by its place when pages differ in their query alone',
    ['https://files.example/b?page=0', 'https://files.example/b?page=1'],
    1,
    true,
  ],
])('renewedUrl finds the fresh address of a page %s', (_, pageUrls, wanted, guessed) => {
  const at = pageUrls.length > 1 ? page : { ...page, ordinal: 0 }
  expect(renewedUrl(at, pageUrls)).toEqual({ url: pageUrls[wanted], guessed })
})

it('renewedUrl finds the fresh address of a page by what of its query is as it was', () => {
  const listed = [3, 1, 2].map((number) => `https://files.example/pages?page=${number}&signature=new${number}`)
  const old = { url: 'https://files.example/pages?page=2&signature=old', ordinal: 1 }
  expect(renewedUrl(old, listed)).toEqual({ url: listed[2], guessed: false })
})

it('renewedUrl keeps the address when the task lists none', () => {
  expect(renewedUrl(page, [])).toEqual({ url: page.url, guessed: false })
})
