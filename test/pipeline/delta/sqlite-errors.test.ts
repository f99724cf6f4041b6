import { expect, it } from 'vitest'
import { readFailed } from '../../../src/partner/partner-errors.ts'
import { sqliteErrors } from '../../../src/partner/sqlite-snapshot.ts'

it.each<[string, number, string, string?]>([
  ['an error of SQL', 1, 'partner_query_failed'],
  ['memory that is used up', 7, 'partner_query_failed', 'space or memory'],
  ['a disk that is full', 13, 'partner_query_failed', 'space or memory'],
  ['a file that is locked', 5, 'partner_unreachable'],
  ['a disk that cannot be read', 266, 'partner_unreachable'],
])('an error of SQLite says whether the query or the file has to be looked at: %s', (_, errcode, code, advice = '') => {
  const told = readFailed('properties', Object.assign(new Error('it failed'), { errcode }), sqliteErrors)
  expect(told.code).toBe(code)
  expect(told.message).toContain(advice)
})
