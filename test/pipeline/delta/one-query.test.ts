import pg from 'pg'
import { expect, it } from 'vitest'
import { openPartnerSnapshot } from '../../../src/partner/partner-snapshot.ts'
import { oneQuery } from '../../../src/partner/sqlserver-snapshot.ts'
import { testDatabase } from '../../helpers/postgres.ts'

it.each([
  ['select 1 as a) s; delete from hotel; select * from (select 1 as a'],
  ['select 1 as a) s delete from hotel select * from (select 1 as a'],
  ['select 1 as a; delete from hotel'],
  ["select ')' as a, [b]](] as b) s delete from hotel select * from (select 1 as a"],
  ['select 1 as a /* ( /* */ */) s delete from hotel --\nselect * from (select 1 as a'],
  ["select 1 as a where 'x = (1"],
  ['select (1 as a'],
  [''],
])('a query for SQL Server that would end its parentheses is refused: %s', (query) => {
  expect(() => oneQuery('properties', query)).toThrow(expect.objectContaining({ code: 'partner_query_failed' }))
})

it.each([
  ["select a, 'it''s ;)' as \"b)\", [c]](] from (select 1 as a) x", null],
  ["select a -- it's (one\nfrom t", 'select a  \nfrom t'],
  ["select /* ( ; ' /* ) */ */ a from t where n in (1, (2))", 'select   a from t where n in (1, (2))'],
  ['select a from t --', 'select a from t  '],
])('a query for SQL Server goes in as it is, but for its comments: %s', (query, without) => {
  expect(oneQuery('properties', query)).toBe(without ?? query)
})

it('a query for PostgreSQL holds no second statement, which could end the read-only transaction', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  const owner = new pg.Client({ connectionString: url })
  await owner.connect()
  await owner.query('create table hotel (code text); insert into hotel values (1)')
  const snapshot = await openPartnerSnapshot({ url, statementTimeoutMs: 10_000 })
  const query = `select 1 as code) s; commit; set default_transaction_read_only = off; delete from hotel; begin; select * from (select 1 as code`
  try {
    await expect(
      snapshot.check({ stream: 'properties', query, columns: ['code'], fetchRows: 1, cursor: null }),
    ).rejects.toMatchObject({ code: 'partner_query_failed', message: expect.stringContaining('multiple commands') })
    const { rowCount } = await owner.query('select from hotel')
    expect(rowCount).toBe(1)
  } finally {
    await snapshot.close()
    await owner.end()
  }
})
