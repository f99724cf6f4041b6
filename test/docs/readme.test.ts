import { expect, test } from 'vitest'
import { nameOf, program, verbsOf } from '../../build/reference-pages/verb-reference.ts'
import { namedVariables } from '../../src/config/environment.ts'
import { configJsonSchema, leafPaths } from '../../src/config/setting-paths.ts'
import { firstCells, readPage, section } from './pages.ts'

const readme = readPage('README.md')

test('the README has at most 200 lines', () => {
  expect(readme.text.trimEnd().split('\n').length).toBeLessThanOrEqual(200)
})

test('the README names exactly the short environment variables', () => {
  const named = firstCells(section(readme, 'Use it on your own database'))
  expect(named.sort()).toEqual(Object.keys(namedVariables).sort())
})

test('every verb that the README names is a verb of the program', async () => {
  const verbs = verbsOf(await program()).map(nameOf)
  const named = verbsNamedIn(readme.text)
  expect(named.length).toBeGreaterThanOrEqual(5)
  expect(named.filter((words) => !verbs.some((verb) => `${words} `.startsWith(`${verb} `)))).toEqual([])
})

test('every setting that the README names is a setting', () => {
  const sections = Object.keys(configJsonSchema().properties ?? {}).join('|')
  const named = [...readme.text.matchAll(new RegExp(`\`((?:${sections})\\.[\\w.-]+)\``, 'g'))].map(([, path]) => path)
  expect(named.length).toBeGreaterThanOrEqual(5)
  expect(named.filter((path) => path !== undefined && !leafPaths().includes(path))).toEqual([])
})

test('the check of verbs sees them in prose and in blocks of commands', () => {
  expect(verbsNamedIn('`nightferry config print` and `nightferry`\nnpm run -s nightferry -- sql --config x\n')).toEqual(
    ['config print', 'sql'],
  )
})

/** The words after the program's name, wherever it is called. */
function verbsNamedIn(text: string): string[] {
  return [...text.matchAll(/(?:`nightferry|npm run -s nightferry --) ([a-z][a-z -]*[a-z])/g)].flatMap(([, words]) =>
    words === undefined ? [] : [words.replace(/ -.*/, '')],
  )
}
