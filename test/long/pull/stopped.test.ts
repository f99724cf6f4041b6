import { expect, test, vi } from 'vitest'
import { nightferry, start } from '../../cli/nightferry-process.ts'
import { startPullWorld, trouble } from '../../helpers/pull-world.ts'

const patience = { timeout: 60_000, interval: 20 }

test.each([
  ['a page whose bytes have stopped coming', new Map([['pages-stalled', 1]]), null],
  ['a page that waits for a lock of somebody else', new Map<string, number>(), 'lock table company in exclusive mode'],
])(
  'SIGTERM ends a process in mid-page within ten seconds: %s',
  async (_what, chaos, blocking) => {
    await using world = await startPullWorld({
      pages: 3,
      companiesPerPage: 2,
      settings: { engine: { shutdownMs: 1_000 } },
      sandbox: { chaos },
    })
    await world.write(() => 1)
    const holder = await world.pool.connect()
    try {
      await holder.query('begin')
      if (blocking !== null) await holder.query(blocking)
      const { child, ended } = start(world.folder, ['run', 'nightly-sync', ...world.options], world.environment)
      await vi.waitFor(async () => {
        const { rows } = await world.pool.query(
          `select from pg_stat_activity
         where datname = current_database() and application_name = 'nightferry' and xact_start is not null
           and pid in (select pid from pg_locks where relation = 'search_page'::regclass and mode = 'RowShareLock')`,
        )
        expect(rows.length).toBeGreaterThan(0)
      }, patience)
      const signalled = performance.now()
      child.kill('SIGTERM')
      expect(await ended).toMatchObject({ code: 143, signal: null })
      expect(performance.now() - signalled).toBeLessThan(10_000)
    } finally {
      await holder.query('rollback')
      holder.release()
    }
    const { rows: pages } = await world.pool.query('select state, failures from search_page')
    expect(pages).toEqual(Array(3).fill({ state: 'listed', failures: 0 }))
    await trouble(world, {})
    const next = await nightferry(world.folder, ['run', 'nightly-sync', ...world.options], world.environment)
    expect(next, next.stderr).toMatchObject({ code: 0 })
  },
  180_000,
)
