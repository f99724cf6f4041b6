import { expect, it } from 'vitest'
import { mysqlErrors } from '../../../src/partner/mysql-session.ts'
import { readFailed } from '../../../src/partner/partner-errors.ts'

it.each<[string, number, string, string?]>([
  ['a column that is not there', 1054, 'partner_query_failed'],
  ['a permission that is missing', 1142, 'partner_query_failed'],
  ['a sort that needs more memory than a setting allows', 1038, 'partner_query_failed', 'space or memory'],
  ['a statement that was killed', 1317, 'partner_unreachable'],
  ['a table that is newer than the snapshot', 1412, 'partner_unreachable'],
  ['a disk that is full', 1021, 'partner_query_failed', 'space or memory'],
  ['memory that is used up', 1037, 'partner_query_failed', 'space or memory'],
  ['resources that are used up', 1041, 'partner_query_failed', 'space or memory'],
  ['a lock that was not to be had in time', 1205, 'partner_unreachable'],
  ['a deadlock', 1213, 'partner_unreachable'],
])('an error of MySQL says whether the query or the server has to be looked at: %s', (_, errno, code, advice = '') => {
  const error = Object.assign(new Error('it failed'), { errno, sqlState: 'HY000' })
  const told = readFailed('properties', error, mysqlErrors)
  expect(told.code).toBe(code)
  expect(told.message).toContain(advice)
})
