import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { considerEnded } from '../../../src/db/ledger/candidates.ts'
import { type Landing, type Ledger, openLedger } from './ledger.ts'

let ledger: Ledger
let run: number
beforeAll(async () => {
  ledger = await openLedger()
})
beforeEach(async () => {
  await ledger.clear()
  run = await ledger.startRun()
})
afterAll(() => ledger.close())

const answers = (partner_id: string, count: number, framework_id = 'f1'): Landing[] =>
  Array.from({ length: count }, (_, index) => ({
    partner_id,
    row_key: `${partner_id} ${framework_id} ${index}`,
    content: { framework_id, value: String(index) },
  }))
const kinds = [
  { kind: 'company_mappings', streams: ['properties'] },
  { kind: 'framework_answers', streams: ['framework_answers', 'omissions'] },
]
const mappings = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }
/** Settles a submission, and has the planner see that it ended. */
async function end(id: number, outcome = 'inferred', keepOut = true) {
  await ledger.settleAll(id, outcome, 'settled', keepOut)
  await ledger.inTransaction((trx) => considerEnded(trx, run, kinds, { framework_answers: ['properties'] }))
}
const cut = (options: Parameters<Ledger['plan']>[1] = {}) => ledger.plan(run, { sweep: false, requests: 2, ...options })
const candidates = async () => {
  const rows = await ledger.db.selectFrom('candidate').select('partner_id').orderBy('partner_id').execute()
  return rows.map(({ partner_id }) => partner_id)
}
/** Maps partner ids to one company. */
async function sameCompany(...partnerIds: string[]) {
  const { submission_id } = await ledger.db
    .insertInto('submission')
    .values({ run_id: run, kind: 'company_mappings', state: 'settled', row_count: 0 } as never)
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  const company_id = randomUUID()
  await ledger.db
    .insertInto('mapping')
    .values(partnerIds.map((partner_id) => ({ partner_id, company_id, submission_id })))
    .execute()
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

  it('that is full takes nothing out of the queue', async () => {
    await ledger.landChecked('framework_answers', answers('H-1', 1))
    expect(await cut({ sweep: true, requests: 0 })).toEqual([])
    expect(await candidates()).toEqual(['H-1'])
    expect(await cut()).toHaveLength(1)
  })

  it('is filled with full submissions where rows are spread over frameworks', async () => {
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
    await sql`update source_row set guard_run = ${run}, guard_change = 'new' where partner_id = 'guarded'`.execute(
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
      await ledger.inTransaction((trx) => considerEnded(trx, run, kinds, { framework_answers: ['properties'] }))
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
    const [mapping = 0] = await ledger.plan(run, mappings)
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
      select ${run}, 'framework_answers', '{}', array_agg(distinct partner_id) from source_row`.execute(ledger.db)
    await ledger.inTransaction((trx) => considerEnded(trx, run, kinds, { framework_answers: ['properties'] }))
    expect(await cut({ maxRows: 2 })).toHaveLength(2)
  })
})

describe('one company under two partner ids', () => {
  it('is in one submission of a kind at a time, under one of them', async () => {
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
    expect(await ledger.plan(run, mappings)).toHaveLength(1)
  })
})

/** What a test lays down: hotels with rows in up to three frameworks, some of them the same company. */
const hotel = fc.record({ rows: fc.array(fc.nat(4), { minLength: 1, maxLength: 3 }), company: fc.nat(4) })
const step = fc.record({
  maxRows: fc.integer({ min: 1, max: 9 }),
  requests: fc.integer({ min: 0, max: 4 }),
  ends: fc.nat(9),
})

it('carries every row once in any order of cuts and endings, and never two submissions of one hotel or company at once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(hotel, { minLength: 1, maxLength: 9 }),
      fc.array(step, { maxLength: 12 }),
      async (hotels, steps) => {
        await ledger.clear()
        run = await ledger.startRun()
        const rows = hotels.flatMap(({ rows: counts }, index) =>
          counts.flatMap((count, framework) => answers(`H-${index}`, count, `f${framework}`)),
        )
        if (rows.length > 0) await ledger.landChecked('framework_answers', rows)
        for (const company of [1, 2, 3, 4]) {
          const ids = hotels.flatMap((one, index) => (one.company === company ? [`H-${index}`] : []))
          if (ids.length > 0) await sameCompany(...ids)
        }
        const carried: string[] = []
        const inFlight = new Map<number, Set<string>>()
        const targetOf = (key: string) => {
          const index = Number(key.split(' ')[0]?.slice(2))
          const company = hotels[index]?.company ?? 0
          return company === 0 ? `H-${index}` : `company ${company}`
        }
        let sweep = true
        const plan = async (maxRows: number, requests: number) => {
          const ids = await cut({ sweep, maxRows, requests })
          sweep = false
          for (const id of ids) {
            const keys = await ledger.keysOf(id)
            expect(keys.length).toBeLessThanOrEqual(maxRows)
            const targets = new Set(keys.map(targetOf))
            for (const other of inFlight.values()) expect([...targets].filter((one) => other.has(one))).toEqual([])
            inFlight.set(id, targets)
            carried.push(...keys)
          }
          return ids.length
        }
        const endOne = async (pick: number) => {
          const id = [...inFlight.keys()][pick % Math.max(1, inFlight.size)]
          if (id === undefined) return
          await end(id)
          inFlight.delete(id)
        }
        for (const { maxRows, requests, ends } of steps) {
          await plan(maxRows, requests)
          await endOne(ends)
        }
        // To the end: the queue alone must lead to every row.
        while ((await plan(3, 2)) > 0 || inFlight.size > 0) await endOne(0)
        expect(carried.toSorted()).toEqual(rows.map(({ row_key }) => row_key ?? '').toSorted())
        expect(await cut({ sweep: true })).toEqual([])
      },
    ),
    { numRuns: 40 },
  )
})
