import { expect, test } from 'vitest'
import { existsInProject, type Page, readPage, section } from './pages.ts'

const named = namedTests(section(readPage('docs/reliability.md'), 'What hostile trials found, and the test of each'))

test('docs/reliability.md names a test for everything that hostile trials found, and each test is there', () => {
  expect(named.length).toBeGreaterThan(60)
  expect(named.filter(({ path, title }) => !hasTitle(path, title))).toEqual([])
})

test('the check sees a test that is not there', () => {
  expect(hasTitle('test/docs/trials.test.ts', 'the check sees a test that is not there')).toBe(true)
  expect(hasTitle('test/docs/trials.test.ts', 'the check sees nothing'.toUpperCase())).toBe(false)
  expect(hasTitle('test/docs/nowhere.test.ts', 'the check')).toBe(false)
  expect(namedTests('| a | `test/a.test.ts`: it is so | red |\n| b | the same test | red |\n')).toEqual([
    { path: 'test/a.test.ts', title: 'it is so' },
  ])
})

/** The tests that the second column of a table names, each by its file and its title. */
function namedTests(text: string): { path: Page['path']; title: string }[] {
  return [...text.matchAll(/^\|[^|]+\| `([^`]+)`: ([^|]+?) +\|/gm)].map(([, path = '', title = '']) => ({
    path,
    title,
  }))
}

function hasTitle(path: string, title: string): boolean {
  return existsInProject(path) && readPage(path).text.replaceAll("\\'", "'").includes(title)
}
