import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { planKind } from '../../../src/db/ledger/plan-kind.ts'
import { answersOf as answers, openWindows } from './windows.ts'

const { ledger, run, begin, cut, end, sameCompany } = await openWindows()
beforeEach(begin)
afterAll(() => ledger.close())

const kept = async () => {
  const { rows } = await sql<{ row_key: string }>`
    select row_key from candidate_row join source_row using (row_id) order by row_key`.execute(ledger.db)
  return rows.map(({ row_key }) => row_key)
}
const carried = async (ids: readonly number[]) => (await Promise.all(ids.map((id) => ledger.keysOf(id)))).flat()
/** Three hotels in a framework each: the first cut carries the first, and keeps what it found of the others. */
const threeHotels = async () => {
  await ledger.landChecked('framework_answers', [
    ...answers('H-1', 3, 'f1'),
    ...answers('H-2', 2, 'f2'),
    ...answers('H-3', 2, 'f3'),
  ])
  const ids = await cut({ sweep: true, requests: 1 })
  expect(await carried(ids)).toEqual(['H-1 f1 0', 'H-1 f1 1', 'H-1 f1 2'])
  expect(await kept()).toEqual(['H-2 f2 0', 'H-2 f2 1', 'H-3 f3 0', 'H-3 f3 1'])
}

describe('what a cut found and did not carry', () => {
  it('what a cut found and did not carry is carried by the next cut, and kept no longer', async () => {
    await threeHotels()
    expect(await carried(await cut())).toEqual(['H-2 f2 0', 'H-2 f2 1', 'H-3 f3 0', 'H-3 f3 1'])
    expect(await kept()).toEqual([])
    expect(await cut()).toEqual([])
  })

  it.each([
    ['invalid', "update acceptance set invalid_reason = 'x' where partner_id = 'H-2'"],
    ['gone', "update source_row set gone_at = now() where partner_id = 'H-2'"],
    ['changed and not judged', "update acceptance set checked_hash = '\\x00' where partner_id = 'H-2'"],
    ['accepted', "update acceptance set accepted_hash = wanted_hash where partner_id = 'H-2'"],
    [
      'of a suspended hotel',
      "insert into suspended_hotel (partner_id, reason, suspended_by, suspended_at) values ('H-2', 'x', 'ada', now())",
    ],
  ])('a row that was found and is %s meanwhile is not carried, and others are in its place', async (_, statement) => {
    await threeHotels()
    await ledger.pool.query(statement)
    const ids = await cut({ requests: 1 })
    expect(await carried(ids)).toEqual(['H-3 f3 0', 'H-3 f3 1'])
    expect(await kept()).toEqual([])
  })

  it('a row that was found is carried under the framework that it has by now', async () => {
    await threeHotels()
    await sql`
      update source_row set content = jsonb_set(content, '{framework_id}', '"f3"') where partner_id = 'H-2'`.execute(
      ledger.db,
    )
    const ids = await cut({ requests: 1 })
    expect(await carried(ids)).toEqual(['H-2 f2 0', 'H-2 f2 1', 'H-3 f3 0', 'H-3 f3 1'])
    const { partition } = await ledger.db
      .selectFrom('submission')
      .select('partition')
      .where('submission_id', '=', ids[0] ?? 0)
      .executeTakeFirstOrThrow()
    expect(partition).toBe('f3')
  })

  it('a row that was found waits where its hotel is found to be the company of another that is in flight', async () => {
    await threeHotels()
    await sameCompany('H-1', 'H-2')
    expect(await carried(await cut())).toEqual(['H-3 f3 0', 'H-3 f3 1'])
    const first = await ledger.db.selectFrom('held_property').selectAll().where('partner_id', '=', 'H-1').execute()
    expect(first).toEqual([expect.objectContaining({ more: true })])
    await end(first[0]?.submission_id ?? 0)
    expect(await carried(await cut())).toEqual(['H-2 f2 0', 'H-2 f2 1'])
  })

  it('a row that was found is not carried once it lacks what it requires', async () => {
    const requires = { framework_answers: ['properties'] }
    for (const id of ['H-1', 'H-2', 'H-3']) {
      await ledger.landChecked('properties', [{ partner_id: id, content: {} }], true)
    }
    await ledger.landChecked('framework_answers', [...answers('H-1', 3, 'f1'), ...answers('H-2', 2, 'f2')])
    await cut({ sweep: true, requests: 1, requires })
    await ledger.land('properties', [{ partner_id: 'H-2', content: { name: 'other' } }])
    expect(await cut({ requires })).toEqual([])
  })

  it('what a cut found is as it was after a cut that was given up half way', async () => {
    await threeHotels()
    const given = ledger.inTransaction(async (trx) => {
      await planKind(trx, {
        ...{ runId: run(), kind: 'framework_answers', streams: ['framework_answers'], requires: {} },
        ...{ kindStreams: ['framework_answers'], partitionBy: 'framework_id', judgesProperties: false },
        ...{ maxRows: 100, requests: 1, sweep: false },
      })
      throw new Error('killed')
    })
    await expect(given).rejects.toThrow('killed')
    expect(await kept()).toEqual(['H-2 f2 0', 'H-2 f2 1', 'H-3 f3 0', 'H-3 f3 1'])
    expect(await carried(await cut())).toEqual(['H-2 f2 0', 'H-2 f2 1', 'H-3 f3 0', 'H-3 f3 1'])
  })

  it('the next run looks again for what cuts of the run before found', async () => {
    await threeHotels()
    const runId = await ledger.startRun()
    expect(await carried(await ledger.plan(runId))).toEqual(['H-2 f2 0', 'H-2 f2 1', 'H-3 f3 0', 'H-3 f3 1'])
    expect(await kept()).toEqual([])
  })
})

describe('rows of one hotel that did not fit', () => {
  it('rows that did not fit go out in the order in which they came, framework by framework, also when requests change their size', async () => {
    await ledger.landChecked('framework_answers', [...answers('H-1', 3, 'f2'), ...answers('H-1', 9, 'f1')])
    const requests: string[][] = []
    for (const [at, maxRows] of [4, 8, 2, 10, 10].entries()) {
      const [id = 0] = await cut({ sweep: at === 0, maxRows })
      requests.push(await ledger.keysOf(id))
      await end(id)
    }
    const of = (framework: string, ...rows: number[]) => rows.map((row) => `H-1 ${framework} ${row}`)
    expect(requests).toEqual([of('f1', 0, 1), of('f1', 2, 3, 4, 5), of('f1', 6), of('f1', 7, 8), of('f2', 0, 1, 2)])
    expect(await kept()).toEqual([])
  })

  it('rows that did not fit go out beside those that were too large for the service, once requests are smaller', async () => {
    await ledger.landChecked('framework_answers', answers('H-1', 6))
    const [first = 0] = await cut({ sweep: true, maxRows: 8 })
    await sql`update submission set too_large = true where submission_id = ${first}`.execute(ledger.db)
    await end(first, 'rejected', false)
    const [second = 0] = await cut({ maxRows: 3 })
    expect(await ledger.keysOf(second)).toEqual(['H-1 f1 0'])
  })

  it('rows that did not fit are not looked for again because some that went before were rejected', async () => {
    await ledger.landChecked('framework_answers', answers('H-1', 6))
    const [first = 0] = await cut({ sweep: true, maxRows: 4 })
    await end(first, 'rejected')
    expect(await kept()).toHaveLength(4)
    expect(await carried(await cut({ maxRows: 4 }))).toEqual(['H-1 f1 2', 'H-1 f1 3'])
  })
})
