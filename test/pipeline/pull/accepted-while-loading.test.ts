import { sql } from 'kysely'
import { afterAll, expect, it, vi } from 'vitest'
import { lockLoading } from '../../../src/db/locks/advisory-lock.ts'
import { refuseWhileRunning } from '../../../src/http/routes/action-routes.ts'
import { acceptRemovalsOf, bringBack } from '../../../src/pipeline/actions/act-on-rows.ts'
import { bodyOf, calculator, company, samplePage } from './sample-page.ts'
import { openNights } from './search-nights.ts'

const { database, db, known, marks } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())

const a = (outputs: Record<string, string>) =>
  samplePage([company('A', { calculators: [calculator('x', { inputs: { e: '1' }, outputs })] })])
const deps = { db, now: () => new Date('2026-11-22T12:00:00Z') }
const ada = { user: 'ada', host: 'ferry' }
const nowRun = (state: 'running' | 'failed') => db.updateTable('run').set({ state }).execute()

it.each([
  ['accepted', () => acceptRemovalsOf(deps, {}, ada, refuseWhileRunning)],
  ['brought back', () => bringBack(deps, {}, ada, refuseWhileRunning)],
])(
  'nothing is %s by a person over a page that a run loads that began after it was asked whether one is under way',
  async (_what, act) => {
    for (const outputs of [{ total: '2' }, {}]) {
      const [page] = await database.search(1)
      if (page === undefined) throw new Error('no page')
      await nowRun('running')
      await database.load(page, bodyOf(a(outputs)), { minSeenShare: 0.9 })
    }
    await nowRun('failed')
    const before = [await known(), await marks()]
    expect(await marks()).toMatchObject([{ part: 'value', withheld: true }])
    let asked: Promise<unknown> = Promise.resolve()
    await db.transaction().execute(async (loading) => {
      await lockLoading(loading, 'shared')
      asked = act()
      asked.catch(() => {})
      await vi.waitFor(async () => {
        const { rows } = await sql`
          select from pg_locks join pg_database on pg_database.oid = database
          where datname = current_database() and locktype = 'advisory' and not granted`.execute(db)
        expect(rows).toHaveLength(1)
      })
      await nowRun('running')
    })
    await expect(asked).rejects.toMatchObject({ code: 'run_under_way' })
    expect([await known(), await marks()]).toEqual(before)
  },
)
