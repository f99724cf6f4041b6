import type { Argument } from 'commander'
import { expect, test } from 'vitest'
import { sentence, table } from '../../build/reference-pages/markdown.ts'
import { referencePages } from '../../build/reference-pages/pages.ts'
import { nameOf, program, verbsOf } from '../../build/reference-pages/verb-reference.ts'
import { streamNames } from '../../src/config/schema.ts'
import { leafPaths } from '../../src/config/setting-paths.ts'
import { ourShape } from '../../src/pipeline/streams/our-streams.ts'
import { some } from '../helpers/some.ts'
import { firstCells, readPage, section, sources } from './pages.ts'

test('the pages of streams, verbs and settings are what the program generates', async () => {
  for (const { path, text } of some(await referencePages())) {
    expect(readPage(path).text, `${path} is stale: npm run generate`).toBe(text)
  }
})

test.each(streamNames)('docs/streams.md lists the columns of the stream %s as the program reads them', (stream) => {
  expect(firstCells(section(readPage('docs/streams.md'), `\`${stream}\``))).toEqual(ourShape(stream).columns)
})

test('docs/verbs.md has a heading and the own options of every verb', async () => {
  const page = readPage('docs/verbs.md')
  const verbs = verbsOf(await program())
  expect(verbs.length).toBeGreaterThan(20)
  for (const verb of some(verbs)) {
    const words = ['nightferry', nameOf(verb), ...verb.registeredArguments.map(spelt)].join(' ')
    const listed = firstCells(section(page, `\`${words}\``))
    const own = verb.options.map(({ flags }) => flags).filter((flags) => !/^--(config|set|json)\b/.test(flags))
    expect(listed, words).toEqual(expect.arrayContaining(own))
  }
})

test('docs/verbs.md shows the options that verbs share once, and which verbs have none of them', async () => {
  const page = readPage('docs/verbs.md')
  const shared = section(page, 'Options of every verb')
  expect(firstCells(shared)).toEqual(['--config <file>', '--set <setting=value>', '--json'])
  expect(shared).toContain(
    'Every verb but `nightferry demo`, `nightferry init` and `nightferry completion` takes these',
  )
  expect(section(page, '`nightferry serve`')).not.toContain('--config')
})

test('docs/verbs.md shows a verb that has verbs of its own and does something itself', async () => {
  const names = verbsOf(await program()).map(nameOf)
  expect(names.filter((name) => /^(jobs|contract|config)\b/.test(name))).toEqual([
    'jobs',
    'jobs pause',
    'jobs resume',
    'contract check',
    'config print',
  ])
})

const verbFile = /^src\/cli\/verbs\/(.*)\.ts$/

test('docs/verbs.md names every verb that may end with 3 or, where nothing is amiss with the call, with 1', () => {
  const named = section(readPage('docs/verbs.md'), 'Exit codes')
  const bullets = named.split('\n- ')
  for (const [code, mark] of [
    ['partial', '**3**'],
    ['failed', '**1**'],
  ] as const) {
    const bullet = bullets.find((part) => part.startsWith(mark))
    const ending = sources().filter(({ path, text }) => verbFile.test(path) && text.includes(`exitCodes.${code}`))
    for (const { path } of some(ending)) {
      const file = verbFile.exec(path)?.[1] ?? ''
      const verb = file === 'act-on-request' ? 'cancel' : file.replace('-', ' ')
      expect(bullet, code).toMatch(new RegExp(`\`${verb}\\b`))
    }
  }
})

test('docs/settings.md has a heading for every setting, in the order of the schema', () => {
  const headings = [...readPage('docs/settings.md').text.matchAll(/^### `([^`]+)`$/gm)].map(([, path]) => path)
  expect(headings.filter((path) => path !== undefined && !/^(streams|lookups)\./.test(path))).toEqual(leafPaths())
})

test('every description that the reference pages show says something', async () => {
  const verbs = verbsOf(await program())
  expect(verbs.filter((verb) => verb.description() === '').map(nameOf)).toEqual([])
  const settings = readPage('docs/settings.md').text
  expect([...settings.matchAll(/^### .*\n\n\.?\n/gm)].map(([heading]) => heading)).toEqual([])
})

test('a table has its bars under one another, and a text becomes a sentence that is not HTML', () => {
  expect(table(['a', 'b'], [['`cc`', 'd']])).toBe('| a    | b |\n| ---- | - |\n| `cc` | d |')
  expect(table(['a'], [])).toBe('')
  expect(sentence('the <run> of a|b')).toBe('The \\<run> of a\\|b.')
})

function spelt(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`
}
