import { expect, test } from 'vitest'
import { filesUnder, markdownPages, type Page, readPage } from './pages.ts'

/** Words that a reader has to stop at, each with the common one. */
const uncommon: [RegExp, string][] = [
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\bwhoever\b/i, 'if somebody, or: anyone who'],
  [/\banew\b/i, 'again'],
  [/\bbe it (ever|as|so)\b/i, 'however, or: also if'],
]

/** Where people and contributors read prose: pages, settings, messages, comments and titles of tests. */
function prose(): Page[] {
  const files = ['src', 'test', 'bench', 'build', 'config', 'console/src', 'packaging'].flatMap(filesUnder)
  const texts = files.filter((path) => /\.(ts|tsx|mjs|cjs|yaml|json|css)$/.test(path) && path !== own)
  return [...markdownPages(), ...texts.map(readPage)]
}

const own = 'test/docs/words.test.ts'

function uncommonWords({ path, text }: Page): string[] {
  return text.split('\n').flatMap((line, at) =>
    uncommon.flatMap(([word, better]) => {
      const found = word.exec(line)?.[0]
      return found === undefined ? [] : [`${path}:${at + 1} says "${found}": ${better}`]
    }),
  )
}

/** Titles of tests that begin in the middle of a sentence, whose subject stands elsewhere. */
function headless({ path, text }: Page): string[] {
  const titles = text.matchAll(
    /(?:\b(?:it|test)(?:\.\w+)*(?:<[^>()]*>)?|[)\]])\(\s*(['"`])((?:is|are|that|be|not|and|or|but|whose|again)\s[^\n]*)/g,
  )
  return [...titles].map(([, , title]) => `${path}: ${title}`)
}

test('no page, message, comment or title of a test uses a word that has a common one', () => {
  const pages = prose()
  expect(pages.length).toBeGreaterThan(500)
  expect(pages.flatMap(uncommonWords)).toEqual([])
})

test('every title of a test names what it is about', () => {
  const tests = filesUnder('test').filter((path) => path.endsWith('.ts') && path !== own)
  expect(tests.length).toBeGreaterThan(300)
  expect(tests.map(readPage).flatMap(headless)).toEqual([])
})

test('the check sees uncommon words and titles without a subject', () => {
  const text = `// Mended anew.\nit('is so', () => {})\nit.each([\n  1,\n])('are %i', () => {})\ntest('it is so', () => {})\n`
  expect(uncommonWords({ path: 'a', text })).toEqual(['a:1 says "Mended": fix', 'a:1 says "anew": again'])
  expect(headless({ path: 'a', text })).toEqual(["a: is so', () => {})", "a: are %i', () => {})"])
})
