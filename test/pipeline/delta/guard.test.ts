import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { settings } from '../../../src/config/schema.ts'
import { approvePlans, plansOf } from '../../../src/db/guard/guard-plan.ts'
import { statusCounts } from '../../../src/db/ledger/status-counts.ts'
import { needsOf } from '../../../src/db/nights/night-facts.ts'
import { streamReports } from '../../../src/db/runs/report-rows.ts'
import { rereadStream } from '../../../src/pipeline/actions/act-on-rows.ts'
import { judgeChange } from '../../../src/pipeline/delta/guard-stream.ts'
import { countPending } from '../../../src/pipeline/preflight/preflight.ts'
import { imbalances, judge } from '../../../src/pipeline/report/report.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { extractNow, openPartner, type Partner, propertiesQuery } from './partner.ts'

const defaults = settings.parse({}).guard
const would = (change: Partial<{ new: number; changed: number; gone: number }>) => ({
  new: 0,
  changed: 0,
  gone: 0,
  ...change,
})

describe('the judgement of a change', () => {
  const judged = (change: Parameters<typeof would>[0], known: number, guard = defaults) =>
    judgeChange(guard, { would: would(change), empty: false, known })

  it.each([
    [{ changed: 500 }, 1000, null],
    [{ changed: 501 }, 1000, 'share'],
    [{ new: 501 }, 1000, 'share'],
    [{ gone: 501 }, 1000, 'share'],
    [{ new: 167, changed: 167, gone: 167 }, 1000, 'share'],
    [{ changed: 99 }, 99, null],
    [{ changed: 100 }, 100, 'share'],
  ] as const)('a change of %j where %i are known is %s', (change, known, verdict) => {
    expect(judged(change, known)).toBe(verdict)
  })

  it('never holds the first rows of a stream', () => {
    expect(judged({ new: 1_000_000 }, 0)).toBeNull()
  })

  it('holds an empty source whatever the floor, unless nothing of it is known', () => {
    const empty = (known: number) => judgeChange(defaults, { would: would({}), empty: true, known })
    expect([1, 2, 0].map(empty)).toEqual(['empty', 'empty', null])
  })
})

describe('the guard', () => {
  let ferry: Ferry
  let partner: Partner
  beforeAll(async () => {
    ferry = await openFerry()
    partner = await openPartner()
  })
  beforeEach(async () => {
    await ferry.clear()
    await partner.pool.query('truncate hotel')
    await hotels(10)
  })
  afterAll(async () => {
    await partner.close()
    await ferry.close()
  })

  const guard = { maxChangedShare: 0.5, minRows: 3 }
  const hotels = (to: number, from = 1) =>
    partner.pool.query(
      `insert into hotel (code, name, at) select 'H-' || to_char(n, 'fm000'), 'one', now() from generate_series($1::int, $2::int) n`,
      [from, to],
    )
  const rename = (name: string, codes = '%') =>
    partner.pool.query('update hotel set name = $1, at = clock_timestamp() where code like $2', [name, codes])
  const remove = (codes: string) => partner.pool.query('delete from hotel where code like $1', [codes])
  const night = (capture: 'cursor' | 'snapshot') =>
    extractNow(ferry, partner, { properties: { query: propertiesQuery, capture } }, {}, undefined, guard)
  const acceptAll = () =>
    ferry.ledger.pool.query(
      `update acceptance set checked_hash = wanted_hash, accepted_hash = wanted_hash, accepted_at = now()
       where row_id in (select row_id from source_row where guard_run is null)`,
    )
  const wholeNext = () => ferry.ledger.pool.query(`update stream_reading set whole_wanted = 'reread'`)
  const held = async (run: number) =>
    (await ferry.ledger.db.selectFrom('run').select('held').where('run_id', '=', run).executeTakeFirstOrThrow()).held
  const wholeOf = async (run: number) =>
    (await ferry.ledger.db.selectFrom('run_stream').select('whole').where('run_id', '=', run).executeTakeFirstOrThrow())
      .whole
  const plans = async (run: number) =>
    (await plansOf(ferry.ledger.db, run)).map(({ reason, known, new: added, changed, gone, state }) => ({
      reason,
      known,
      added,
      changed,
      gone,
      state,
    }))
  const approve = (run: number) =>
    ferry.ledger.inTransaction((trx) => approvePlans(trx, run, { user: 'anna', host: 'here' }, new Date()))
  const ready = async (run: number) => {
    await ferry.ledger.pool.query('update acceptance set checked_hash = wanted_hash')
    const ids = await ferry.ledger.plan(run, { kind: 'company_mappings', streams: ['properties'], partitionBy: null })
    return (await Promise.all(ids.map((id) => ferry.ledger.keysOf(id)))).flat()
  }
  const report = async (run: number) => {
    await countPending(ferry.ledger.db, run)
    const streams = await ferry.ledger.db.transaction().execute((trx) => streamReports(trx, run, { properties: [] }))
    expect(imbalances(streams)).toEqual([])
    return {
      stream: streams[0],
      ...judge({ streams, submissions: [], searches: [], held: await plansOf(ferry.ledger.db, run) }),
    }
  }
  const gone = async () =>
    (
      await ferry.ledger.db
        .selectFrom('ledger')
        .select('row_key')
        .where('gone_at', 'is not', null)
        .orderBy('row_key')
        .execute()
    ).map(({ row_key }) => row_key)

  it.each(['cursor', 'snapshot'] as const)(
    'holds a mass change read by %s, and counts every row of it',
    async (capture) => {
      expect(await held(await night(capture))).toBe(false)
      await acceptAll()
      await rename('mass')
      const run = await night(capture)
      expect(await held(run)).toBe(true)
      expect(await plans(run)).toEqual([
        { reason: 'share', known: 10, added: 0, changed: 10, gone: 0, state: 'waiting' },
      ])
      expect((await plansOf(ferry.ledger.db, run))[0]?.examples[0]).toEqual({
        partner_id: 'H-001',
        row_key: 'H-001',
        change: 'changed',
        before: { name: 'one' },
        after: { name: 'mass' },
      })
      expect(await ready(run)).toEqual([])
      expect(await report(run)).toMatchObject({
        stream: { pending: 10, held: 10, sent: 0, parked: 0 },
        verdict: 'partial',
        remarks: [
          'Held by the guard: of properties 10 changed, where 10 rows are known.',
          `Nothing was sent, and 10 rows held by the guard. If this is right: nightferry approve ${run}. The next run then sends it.`,
        ],
      })
    },
  )

  it.each(['cursor', 'snapshot'] as const)(
    'asks again in the next run by %s, also when nothing changed since',
    async (capture) => {
      await night(capture)
      await acceptAll()
      await rename('mass')
      const first = await night(capture)
      const second = await night(capture)
      expect(await held(second)).toBe(true)
      expect(await plans(first)).toMatchObject([{ state: 'superseded' }])
      expect(await plans(second)).toMatchObject([{ state: 'waiting', changed: 10 }])
      expect(await approve(first)).toEqual([])
      expect(await ready(second)).toEqual([])
    },
  )

  it.each(['cursor', 'snapshot'] as const)(
    'lets exactly what was approved through, read by %s, and holds what is added to it',
    async (capture) => {
      await night(capture)
      await acceptAll()
      await rename('mass')
      const first = await night(capture)
      await approve(first)
      expect(await plans(first)).toMatchObject([{ state: 'approved' }])
      await rename('other', 'H-001')
      const second = await night(capture)
      expect(await held(second)).toBe(false)
      expect(await ready(second)).toHaveLength(10)

      await ferry.ledger.pool.query('delete from held_property')
      await rename('again')
      const third = await night(capture)
      expect(await held(third)).toBe(true)
      expect(await plans(third)).toMatchObject([{ changed: 10, state: 'waiting' }])
    },
  )

  it('does not count rows that wait for approval among those that are known', async () => {
    await night('cursor')
    await acceptAll()
    await hotels(18, 11)
    for (const _ of [1, 2, 3]) {
      const run = await night('cursor')
      expect(await plans(run)).toMatchObject([{ known: 10, added: 8, state: 'waiting' }])
    }
  })

  it.each(['cursor', 'snapshot'] as const)(
    'lets the rows go when the partner fixes the mistake, read by %s',
    async (capture) => {
      await night(capture)
      await acceptAll()
      await rename('mistake')
      await night(capture)
      await rename('one')
      const run = await night(capture)
      expect(await held(run)).toBe(false)
      expect(await ready(run)).toEqual([])
      expect(await report(run)).toMatchObject({ stream: { pending: 0, held: 0 }, verdict: 'succeeded' })
    },
  )

  it.each(['cursor', 'snapshot'] as const)(
    'lets the next run go on when a mistake that brought new rows is fixed, read by %s, and again after another',
    async (capture) => {
      await night(capture)
      await acceptAll()
      for (const _ of [1, 2]) {
        await hotels(40, 11)
        for (const again of [1, 2]) {
          const run = await night(capture)
          expect([again, await plans(run)]).toMatchObject([again, [{ known: 10, added: 30, changed: 0, gone: 0 }]])
        }
        await partner.pool.query(`delete from hotel where code > 'H-010'`)
        const fixed = await night(capture)
        expect([await held(fixed), await plans(fixed)]).toEqual([false, []])
        expect(await gone()).toHaveLength(30)
        expect(await ready(fixed)).toEqual([])
        expect(await report(fixed)).toMatchObject({ stream: { pending: 0, held: 0 }, verdict: 'succeeded' })
      }
    },
  )

  it.each(['cursor', 'snapshot'] as const)(
    'asks about rows that are gone, read by %s, and not about new ones that never went anywhere',
    async (capture) => {
      await night(capture)
      await acceptAll()
      await hotels(40, 11)
      await night(capture)
      await partner.pool.query(`delete from hotel where code <> 'H-010'`)
      const first = await night(capture)
      const [plan] = await plansOf(ferry.ledger.db, first)
      expect(plan?.examples.map(({ row_key }) => row_key)).toEqual(['H-001', 'H-002', 'H-003', 'H-004', 'H-005'])
      for (const run of [first, await night(capture)]) {
        expect(await plans(run)).toMatchObject([{ known: 10, added: 0, changed: 0, gone: 9 }])
      }
      expect([(await gone()).length, (await gone())[0]]).toEqual([30, 'H-011'])
    },
  )

  it('lets the rows go when the mistake was in the query, although no cursor moves', async () => {
    const touch = (day: number) => partner.pool.query('update hotel set at = $1', [`2026-01-0${day}`])
    await touch(1)
    await night('cursor')
    await acceptAll()
    await touch(2)
    await partner.pool.query(`insert into hotel (code, name, at) values ('H-011', 'one', '2026-01-03')`)
    const mistaken = { properties: { query: propertiesQuery.replace(' name,', ` name || '?' as name,`) } }
    expect(await held(await extractNow(ferry, partner, mistaken, {}, undefined, guard))).toBe(true)
    const fixed = await night('cursor')
    expect(await held(fixed)).toBe(false)
    expect(await ready(fixed)).toEqual(['H-011'])
    expect(await wholeOf(fixed)).toBe('query')
  })

  it('lets the rows go when the mistake was in the source, and was put right without moving a cursor', async () => {
    await partner.pool.query(`update hotel set at = '2026-01-01'`)
    await night('cursor')
    await acceptAll()
    await partner.pool.query(`update hotel set name = name || '?', at = '2026-01-02'`)
    const mistaken = await night('cursor')
    expect([await held(mistaken), await wholeOf(mistaken)]).toEqual([true, null])
    await partner.pool.query(`update hotel set name = rtrim(name, '?')`)
    const fixed = await night('cursor')
    expect([await held(fixed), await wholeOf(fixed)]).toEqual([false, 'held'])
    expect(await ready(fixed)).toEqual([])
  })

  it.each(['cursor', 'snapshot'] as const)(
    'holds no night over rows that contradict each other, by %s: nothing of them is sent',
    async (capture) => {
      await night(capture)
      await acceptAll()
      await partner.pool.query(`insert into hotel (code, name, at) select code, 'two', at from hotel`)
      const run = await night(capture)
      expect([await held(run), await plans(run)]).toEqual([false, []])
      const contradicting = ferry.ledger.db
        .selectFrom('ledger')
        .select('guard_run')
        .where('invalid_reason', 'is not', null)
      expect(await contradicting.execute()).toHaveLength(10)
      // Rows that an earlier night held for this wait no longer.
      await ferry.ledger.pool.query(`update source_row set guard_run = $1, guard_change = 'changed'`, [run])
      const next = await night(capture)
      expect([await held(next), await plans(next)]).toEqual([false, []])
      expect(new Set((await contradicting.execute()).map(({ guard_run }) => guard_run))).toEqual(new Set([null]))
      // Once the source is right, they are judged as all others are.
      await partner.pool.query(`delete from hotel where name = 'one'`)
      await partner.pool.query('update hotel set at = clock_timestamp()')
      const last = await night(capture)
      expect(await plans(last)).toMatchObject([{ reason: 'share', changed: 10, state: 'waiting' }])
    },
  )

  it.each(['cursor', 'snapshot'] as const)(
    'asks about no rows that are gone, by %s, if they contradicted each other and were never sent',
    async (capture) => {
      const twice = () =>
        partner.pool.query(`insert into hotel (code, name, at) select code, 'two', at from hotel where code > 'H-010'`)
      const fixed = async () => {
        await partner.pool.query(`delete from hotel where code > 'H-010'`)
        await wholeNext()
        const run = await night(capture)
        expect([await plans(run), (await gone()).length, await ready(run)]).toEqual([[], 30, []])
        return run
      }
      await night(capture)
      await acceptAll()
      await hotels(40, 11)
      await twice()
      expect(await held(await night(capture))).toBe(false)
      expect(await report(await fixed())).toMatchObject({ stream: { pending: 0, held: 0 }, verdict: 'succeeded' })

      // Held as new by one night, and contradicting each other in the next.
      await hotels(40, 11)
      expect(await plans(await night(capture))).toMatchObject([{ known: 10, added: 30 }])
      await twice()
      expect(await held(await night(capture))).toBe(false)
      await fixed()

      // Contradicting each other in one night, and held by the next, because half of the mistake is left.
      await hotels(40, 11)
      await twice()
      expect(await held(await night(capture))).toBe(false)
      await partner.pool.query(`delete from hotel where name = 'two'`)
      await wholeNext()
      expect(await plans(await night(capture))).toMatchObject([{ added: 30, changed: 0 }])
      await fixed()
    },
  )

  it.each([
    ['accepted', `update acceptance set accepted_at = now()`],
    ['perhaps taken', `update acceptance set perhaps_taken_at = now()`],
    ['accepted for the company that their hotel was', `update acceptance set outcome_at = now()`],
    [
      'accepted at a destination that waits',
      `create schema elsewhere;
       create table elsewhere.acceptance (like nightferry.acceptance);
       insert into elsewhere.acceptance select * from acceptance;
       update elsewhere.acceptance set accepted_at = now();
       insert into destination (name, schema_name, left_at) values ('elsewhere', 'elsewhere', now())`,
    ],
  ])('asks about rows that are gone and contradicted each other, if they were %s', async (_, before) => {
    try {
      await night('snapshot')
      await ferry.ledger.pool.query(before)
      await partner.pool.query(`insert into hotel (code, name, at) select code, 'two', at from hotel`)
      expect(await held(await night('snapshot'))).toBe(false)
      await remove('H-00%')
      const run = await night('snapshot')
      expect(await plans(run)).toMatchObject([{ known: 10, added: 0, changed: 0, gone: 9 }])
      expect(await gone()).toEqual([])
    } finally {
      await ferry.ledger.pool.query(`
        delete from destination where name = 'elsewhere'; drop schema if exists elsewhere cascade`)
    }
  })

  it('asks about rows that are gone and contradicted each other, if a request carried them', async () => {
    const run = await night('snapshot')
    await ready(run)
    await partner.pool.query(`insert into hotel (code, name, at) select code, 'two', at from hotel`)
    expect(await held(await night('snapshot'))).toBe(false)
    await remove('H-00%')
    expect(await plans(await night('snapshot'))).toMatchObject([{ known: 10, gone: 9 }])
  })

  it('holds a mass deletion: no tombstone is set until a person approves', async () => {
    await night('snapshot')
    await acceptAll()
    await remove('H-00%')
    const run = await night('snapshot')
    expect(await plans(run)).toEqual([{ reason: 'share', known: 10, added: 0, changed: 0, gone: 9, state: 'waiting' }])
    expect(await report(run)).toMatchObject({
      stream: { pending: 0, held: 0, held_gone: 9 },
      remarks: [
        'Held by the guard: of properties 9 gone, where 10 rows are known.',
        `Nothing was sent, and 9 rows held by the guard. If this is right: nightferry approve ${run}. The next run then sends it.`,
      ],
    })
    expect(await statusCounts(ferry.ledger.db, { properties: [] })).toMatchObject([{ held: 9, accepted: 10 }])
    expect(await needsOf(ferry.ledger.db, { properties: [] })).toEqual([{ state: 'held', rows: 9, hotels: 9 }])
    expect(await gone()).toEqual([])
    expect(await held(await night('snapshot'))).toBe(true)
    const newest = await night('snapshot')
    await approve(newest)
    expect(await gone()).toHaveLength(9)
    expect(await held(await night('snapshot'))).toBe(false)
    expect(await gone()).toHaveLength(9)
  })

  it('lets rows go that were held as gone, once the source is said to yield only what changed', async () => {
    await night('cursor')
    await acceptAll()
    await remove('%')
    expect(await held(await night('cursor'))).toBe(true)
    const changes = { properties: { query: propertiesQuery, fullEvery: 'never' as const } }
    const run = await extractNow(ferry, partner, changes, {}, undefined, guard)
    expect(await held(run)).toBe(false)
    expect(await gone()).toEqual([])
    expect(await ready(run)).toEqual([])
  })

  it('lets new rows go that do not come, where the query yields only what changed, once a person wants it reread', async () => {
    const changes = { properties: { query: propertiesQuery, fullEvery: 'never' as const } }
    const changesNight = () => extractNow(ferry, partner, changes, {}, undefined, guard)
    const reread = () => {
      const actor = { user: 'anna', host: 'here' }
      return rereadStream(ferry.ledger.db, { stream: 'properties', since: null, now: new Date(), actor })
    }
    const waits = [{ reason: 'share', known: 10, added: 30, changed: 0, gone: 0, state: 'waiting' }]
    await changesNight()
    await acceptAll()
    await hotels(40, 11)
    // What a person wanted before the mistake was fixed says nothing of a later night.
    await reread()
    expect(await plans(await changesNight())).toEqual(waits)
    await remove('%')
    for (const _ of [1, 2]) {
      const run = await changesNight()
      expect([await plans(run), await wholeOf(run)]).toEqual([waits, 'held'])
    }
    expect(await gone()).toEqual([])

    await reread()
    const run = await changesNight()
    expect([await held(run), await wholeOf(run)]).toEqual([false, 'reread'])
    expect([(await gone()).length, (await gone())[0]]).toEqual([30, 'H-011'])
    expect(await ready(run)).toEqual([])
    expect(await report(run)).toMatchObject({ stream: { pending: 0, held: 0 }, verdict: 'succeeded' })
    // One that was right after all is there again when the query yields it.
    await hotels(11, 11)
    expect(await ready(await changesNight())).toEqual(['H-011'])
  })

  it('sets the tombstones that are left when most of what was missing is there again', async () => {
    await night('snapshot')
    await acceptAll()
    await remove('H-00%')
    await night('snapshot')
    await hotels(8)
    const run = await night('snapshot')
    expect(await held(run)).toBe(false)
    expect(await gone()).toEqual(['H-009'])
    const counts = await ferry.ledger.db
      .selectFrom('run_stream')
      .select(['gone', 'changed'])
      .where('run_id', '=', run)
      .executeTakeFirst()
    expect(counts).toEqual({ gone: 1, changed: 0 })
  })

  it.each(['cursor', 'snapshot'] as const)(
    'holds a source that is empty, read by %s, and remembers that a person found it right',
    async (capture) => {
      await night(capture)
      await acceptAll()
      await remove('%')
      const run = await night(capture)
      expect(await plans(run)).toMatchObject([{ reason: 'empty', known: 10, state: 'waiting' }])
      expect(await gone()).toEqual([])
      await approve(run)
      for (const _ of [1, 2]) expect(await held(await night(capture))).toBe(false)
      expect(await gone()).toHaveLength(10)
    },
  )

  it.each(['cursor', 'snapshot'] as const)(
    'holds a source, read by %s, that is emptied again after a person found it rightly empty and it had rows since',
    async (capture) => {
      await night(capture)
      await acceptAll()
      await remove('%')
      await approve(await night(capture))
      await hotels(10)
      expect(await held(await night(capture))).toBe(false)
      await acceptAll()
      await remove('%')
      expect(await plans(await night(capture))).toMatchObject([{ reason: 'empty', known: 10, state: 'waiting' }])
      expect(await gone()).toEqual([])
    },
  )

  it('holds the rest of the run too, and counts what waits for another row as parked', async () => {
    await night('snapshot')
    await acceptAll()
    await ferry.ledger.landChecked('framework_answers', [
      { partner_id: 'H-001', content: { value: '1' } },
      { partner_id: 'H-999', content: { value: '1' } },
    ])
    await hotels(30, 11)
    const run = await night('snapshot')
    await ferry.ledger.db
      .insertInto('run_stream')
      .values({ ...emptyStream, run_id: run })
      .execute()
    await countPending(ferry.ledger.db, run)
    const streams = await ferry.ledger.db
      .transaction()
      .execute((trx) => streamReports(trx, run, { properties: [], framework_answers: ['properties'] }))
    expect(imbalances(streams)).toEqual([])
    expect(streams).toMatchObject([
      { stream: 'properties', pending: 20, held: 20 },
      { stream: 'framework_answers', pending: 2, held: 1, parked: 1 },
    ])
  })

  const emptyStream = {
    stream: 'framework_answers',
    read: 0,
    folded: 0,
    unchanged: 0,
    changed: 0,
    null_cursor: 0,
    protection: null,
    pending: null,
    watermark_before: null,
    watermark_after: null,
  }
})
