import { expect, test } from 'vitest'
import { type Guard, guardsOfDatabase, guardsOfUnits } from '../guards/guards.ts'
import { existsInProject, readPage } from './pages.ts'

const guards = [...guardsOfUnits, ...guardsOfDatabase]

/** Whether the text of a guard stands once in its file, and its tests are there. */
function canBeTakenOut({ file, text, without, test: tests, title }: Guard): boolean {
  if (!existsInProject(file) || !existsInProject(tests) || text === without) return false
  const known = readPage(tests).text.replaceAll("\\'", "'")
  return readPage(file).text.split(text).length === 2 && (title === undefined || known.includes(title))
}

test('each guard that npm run test:guards takes out is there once, and so are its tests', () => {
  expect(guards.length).toBeGreaterThan(60)
  expect(guards.filter((guard) => !canBeTakenOut(guard)).map(({ name }) => name)).toEqual([])
  expect(new Set(guards.map(({ name }) => name)).size).toBe(guards.length)
})

test('the check of guards sees one that is not there, and one whose tests are not', () => {
  const [guard] = guardsOfUnits
  if (guard === undefined) throw new Error('there is no guard')
  expect(canBeTakenOut(guard)).toBe(true)
  expect(canBeTakenOut({ ...guard, text: 'no such text' })).toBe(false)
  expect(canBeTakenOut({ ...guard, without: guard.text })).toBe(false)
  expect(canBeTakenOut({ ...guard, title: 'no such title' })).toBe(false)
  expect(canBeTakenOut({ ...guard, test: 'test/nowhere.test.ts' })).toBe(false)
})
