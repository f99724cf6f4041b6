import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { answersOf as answers, openWindows } from './windows.ts'

const { ledger, run, begin, cut, end, considerEnded, sameCompany } = await openWindows()
beforeEach(begin)
afterAll(() => ledger.close())

const mappings = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }
const candidates = async () => {
  const rows = await ledger.db.selectFrom('candidate').select('partner_id').orderBy('partner_id').execute()
  return rows.map(({ partner_id }) => partner_id)
}

describe('a window', () => {
  it('holds no more submissions than are wanted, and the next cut goes on where it ended', async () => {
    const rows = Array.from({ length: 50 }, (_, index) => answers(`H-${index}`, 1)).flat()
    await ledger.landChecked('framework_answers', rows)
    const carried: string[] = []
    for (let sweep = true; ; sweep = false) {
      const ids = await cut({ sweep, maxRows: 10 })
      if (ids.length === 0) break
      expect(ids.length).toBeLessThanOrEqual(2)
      for (const id of ids) carried.push(...(await ledger.keysOf(id)))
    }
    expect(carried).toHaveLength(50)
    expect(new Set(carried).size).toBe(50)
    expect(await candidates()).toEqual([])
  })

  it('a window that is full takes nothing out of the queue', async () => {
    await ledger.landChecked('framework_answers', answers('H-1', 1))
    expect(await cut({ sweep: true, requests: 0 })).toEqual([])
    expect(await candidates()).toEqual(['H-1'])
    expect(await cut()).toHaveLength(1)
  })

  it('a window is filled with full submissions where rows are spread over frameworks', async () => {
    const frameworks = Array.from({ length: 10 }, (_, framework) =>
      Array.from({ length: 10 }, (_, index) => answers(`H-${index}-${framework}`, 1, `f${framework}`)).flat(),
    )
    await ledger.landChecked('framework_answers', frameworks.flat())
    const ids = await cut({ sweep: true, maxRows: 10 })
    expect(await Promise.all(ids.map(async (id) => (await ledger.keysOf(id)).length))).toEqual([10, 10])
  })

  it('makes no candidate of what is parked, invalid, rejected, accepted or held by the guard', async () => {
    const requires = { framework_answers: ['properties'] }
    for (const name of ['parked', 'invalid', 'rejected', 'accepted', 'guarded', 'ready']) {
      await ledger.landChecked('framework_answers', answers(name, 2))
      if (name !== 'parked') await ledger.landChecked('properties', [{ partner_id: name, content: {} }], true)
    }
    await sql`update acceptance set invalid_reason = 'x' where partner_id = 'invalid'`.execute(ledger.db)
    await sql`update acceptance set refused_hash = wanted_hash where partner_id = 'rejected'`.execute(ledger.db)
    await sql`update acceptance set accepted_hash = wanted_hash where partner_id = 'accepted'`.execute(ledger.db)
    await sql`update source_row set guard_run = ${run()}, guard_change = 'new' where partner_id = 'guarded'`.execute(
      ledger.db,
    )
    await cut({ sweep: true, requests: 0, requires })
    expect(await candidates()).toEqual(['ready'])
  })
})

describe('without looking over all rows again', () => {
  it('a row that was skipped because its property was in flight is found once that has ended', async () => {
    await ledger.landChecked('framework_answers', [...answers('H-1', 1, 'f1'), ...answers('H-1', 1, 'f2')])
    const [first = 0] = await cut({ sweep: true })
    expect(await cut()).toEqual([])
    await end(first)
    expect(await Promise.all((await cut()).map((id) => ledger.keysOf(id)))).toEqual([['H-1 f2 0']])
  })

  it.each(['settled', 'refused', 'lost', 'abandoned'] as const)(
    'what a submission that is %s leaves is found',
    async (state) => {
      await ledger.landChecked('framework_answers', answers('H-1', 5))
      const [first = 0] = await cut({ sweep: true, maxRows: 2 })
      await ledger.settleAll(first, 'unknown', state)
      await considerEnded()
      expect(await candidates()).toEqual(['H-1'])
      expect(await cut({ maxRows: 2 })).toHaveLength(1)
    },
  )

  it('a row is found once what it requires is accepted, and noted as released by that', async () => {
    const requires = { framework_answers: ['properties'] }
    await ledger.landChecked('framework_answers', [...answers('H-1', 3), ...answers('H-2', 2)])
    await ledger.landChecked('properties', [{ partner_id: 'H-1', content: {} }])
    await ledger.landChecked('properties', [{ partner_id: 'H-2', content: {} }], true)
    const [early = 0] = await cut({ sweep: true, requires })
    expect(await ledger.keysOf(early)).toHaveLength(2)
    const [mapping = 0] = await ledger.plan(run(), mappings)
    expect(await cut({ requires })).toEqual([])
    await end(mapping, 'confirmed')
    const [released = 0] = await cut({ requires })
    expect(await ledger.keysOf(released)).toHaveLength(3)
    const { rows } = await sql`select submission_id, released_by, rows, kind, released_by_kind from releases`.execute(
      ledger.db,
    )
    expect(rows).toEqual([
      {
        submission_id: released,
        released_by: mapping,
        rows: 3,
        kind: 'framework_answers',
        released_by_kind: 'company_mappings',
      },
    ])
  })

  it('rows that were refused as too large go out again in smaller requests, and only in smaller ones', async () => {
    await ledger.landChecked('framework_answers', Array.from({ length: 4 }, (_, i) => answers(`H-${i}`, 1)).flat())
    const [first = 0] = await cut({ sweep: true, maxRows: 4 })
    await sql`update submission set too_large = true where submission_id = ${first}`.execute(ledger.db)
    await end(first, 'rejected', false)
    expect(await cut({ maxRows: 4 })).toEqual([])
    await sql`insert into ended_submission (run_id, kind, partner_ids, unsettled_ids)
      select ${run()}, 'framework_answers', '{}', array_agg(distinct partner_id) from source_row`.execute(ledger.db)
    await considerEnded()
    expect(await cut({ maxRows: 2 })).toHaveLength(2)
  })
})

describe('one company under two partner ids', () => {
  it('one company under two partner ids is in one submission of a kind at a time, under one of them', async () => {
    await ledger.landChecked(
      'framework_answers',
      ['H-1', 'H-2', 'H-3'].flatMap((id) => answers(id, 2)),
    )
    await sameCompany('H-1', 'H-2')
    const [first = 0, ...more] = await cut({ sweep: true })
    expect(more).toEqual([])
    expect(new Set((await ledger.keysOf(first)).map((key) => key.slice(0, 3)))).toEqual(new Set(['H-1', 'H-3']))
    expect(await cut({ sweep: true })).toEqual([])
    await end(first)
    const [second = 0] = await cut()
    expect(await ledger.keysOf(second)).toEqual(['H-2 f1 0', 'H-2 f1 1'])
  })

  it('may be in submissions of two kinds', async () => {
    await ledger.landChecked('framework_answers', answers('H-1', 1))
    await ledger.landChecked('properties', [{ partner_id: 'H-2', content: {} }])
    await sameCompany('H-1', 'H-2')
    expect(await cut({ sweep: true })).toHaveLength(1)
    expect(await ledger.plan(run(), mappings)).toHaveLength(1)
  })
})
