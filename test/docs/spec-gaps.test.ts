import { expect, test } from 'vitest'
import { loadContract } from '../../src/exchange/contract.ts'
import { readPage, root, sources } from './pages.ts'

const page = readPage('docs/spec-gaps.md')
const marked = sources().filter(({ text }) => /\bSpec gap\b/.test(text))

test('docs/spec-gaps.md names exactly the entries of the contract that are assumed', () => {
  const named = [
    ...page.text.matchAll(/`((?:endpoints|otherEndpoints|taskNames|taskStatuses|webhookTopics|names)\.[\w.]+)`/g),
  ].flatMap((match) => match[1] ?? [])
  const { assumed } = loadContract(`${root}/config/contract.yaml`)
  expect([...named].sort()).toEqual([...assumed].sort())
})

test('docs/spec-gaps.md names exactly the files whose comments mark a gap, or files that it describes', () => {
  const named = [...page.text.matchAll(/`(src\/[\w./-]+\.ts)`/g)].map((match) => match[1] ?? '')
  expect(marked.map(({ path }) => path).filter((path) => !named.includes(path))).toEqual([])
  const known = new Set(sources().map(({ path }) => path))
  expect(named.filter((path) => !known.has(path))).toEqual([])
})

test('every mark of a gap outside the sandbox points to docs/spec-gaps.md', () => {
  const silent = marked.filter(
    ({ text }) => !commentsOf(text).every((comment) => comment.includes('docs/spec-gaps.md')),
  )
  expect(silent.map(({ path }) => path)).toEqual([])
  expect(marked.length).toBeGreaterThan(0)
})

function commentsOf(text: string): string[] {
  return [...text.matchAll(/\/\*[\s\S]*?\*\/|\/\/.*(?:\n\s*\/\/.*)*/g)]
    .map(([comment]) => comment)
    .filter((comment) => /\bSpec gap\b/.test(comment))
}
