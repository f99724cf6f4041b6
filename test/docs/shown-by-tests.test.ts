import { expect, test } from 'vitest'
import { existsInProject, readPage, section } from './pages.ts'

const page = readPage('docs/reliability.md')
const consolePage = readPage('docs/console.md')

/** A test by its file and its title, and one case of a title that stands for several. */
type Named = { path: string; title: string; of: string | null }

/** The tests that a table's cells name: `file`: title, and behind it in brackets of its own the case. */
function namedTests(text: string): Named[] {
  return [...text.matchAll(/`(test\/[\w/.-]+\.test\.ts)`: ([^|]+?)(?: \[([^\]|]+)\])?(?=; `| *\|)/g)].map(
    ([, path = '', title = '', of]) => ({ path, title: title.trim(), of: of ?? null }),
  )
}

/** The rows of the first table under a heading. */
function rowsOf(heading: string, of = page): string[] {
  const lines = section(of, heading).split('\n')
  const table = lines.slice(lines.findIndex((line) => line.startsWith('|')))
  const end = table.findIndex((line) => !line.startsWith('|'))
  return table.slice(2, end < 0 ? table.length : end)
}

/** Whether the file has a test of that title, with such a case. Quotes in texts of the program are escaped. */
function isThere({ path, title, of }: Named): boolean {
  if (!existsInProject(path)) return false
  const text = readPage(path).text.replaceAll("\\'", "'")
  return text.includes(title) && (of === null || text.includes(of))
}

test.each([
  ['R1 to R24', 24],
  ['Faults, each with its test', 75],
  ['Security checks, each with its test', 48],
])(
  'each row of "%s" in docs/reliability.md names a test that is there, and there are at least %i',
  (heading, least) => {
    const rows = rowsOf(heading)
    expect(rows.length).toBeGreaterThanOrEqual(least)
    expect(new Set(rows.map((row) => row.split('|')[1]?.trim())).size).toBe(rows.length)
    expect(rows.filter((row) => namedTests(row).length === 0)).toEqual([])
    expect(rows.flatMap(namedTests).filter((named) => !isThere(named))).toEqual([])
  },
)

test('each promise of docs/console.md names a test that is there, and there are at least 20', () => {
  const rows = rowsOf('Promises, each with its test', consolePage)
  expect(rows.length).toBeGreaterThanOrEqual(20)
  expect(new Set(rows.map((row) => row.split('|')[1]?.trim())).size).toBe(rows.length)
  expect(rows.filter((row) => namedTests(row).length === 0)).toEqual([])
  expect(rows.flatMap(namedTests).filter((named) => !isThere(named))).toEqual([])
})

test('the table of R1 to R24 in docs/reliability.md has each of them once, in order', () => {
  const numbers = rowsOf('R1 to R24').map((row) => row.split('|')[1]?.trim())
  expect(numbers).toEqual(Array.from({ length: 24 }, (_, at) => `R${at + 1}`))
})

test('the check of named tests sees one that is not there, by its file, its title or its case', () => {
  const here = 'test/docs/shown-by-tests.test.ts'
  const title = 'the check of named tests sees one that is not there'
  expect(isThere({ path: here, title, of: 'R1 to R24' })).toBe(true)
  expect(isThere({ path: here, title: title.toUpperCase(), of: null })).toBe(false)
  expect(isThere({ path: here, title, of: 'R1 to R24'.toLowerCase() })).toBe(false)
  expect(isThere({ path: 'test/docs/nowhere.test.ts', title, of: null })).toBe(false)
  const rows = '| a | `test/a.test.ts`: it is so [one case]; `test/b.test.ts`: so [%s]; it is |'
  expect(namedTests(rows)).toEqual([
    { path: 'test/a.test.ts', title: 'it is so', of: 'one case' },
    { path: 'test/b.test.ts', title: 'so [%s]; it is', of: null },
  ])
})
