import { expect, test, vi } from 'vitest'
import { served } from './served.ts'

test('a daemon that stops gives up the counts that requests wait for, at once, and its server ends them', async () => {
  // What else is at hand may take this long: no count does.
  const shutdownMs = 60_000
  await using api = await served({ hotels: 1, migrated: true }, { NIGHTFERRY_ENGINE_SHUTDOWN_MS: String(shutdownMs) })
  const { pool } = api.world
  const holder = await pool.connect()
  try {
    await holder.query('begin; lock table acceptance in access exclusive mode')
    // One count is under way, and the other waits for its turn.
    const answers = ['/v1/rows/causes?state=invalid', '/v1/tonight'].map((path) =>
      api.ask(path).then(
        ({ status }) => status,
        () => 'broken off',
      ),
    )
    const counting = async () => {
      const { rows } = await pool.query<{ waiting: boolean }>(
        `select wait_event_type = 'Lock' as waiting from pg_stat_activity where application_name = 'nightferry http' and state = 'active'`,
      )
      return rows
    }
    await vi.waitFor(async () => expect(await counting()).toContainEqual({ waiting: true }), { timeout: 60_000 })
    const signalled = performance.now()
    api.daemon.child.kill('SIGTERM')
    const { code, stderr } = await api.daemon.ended
    expect({ code, cut: stderr.includes('shutdown_cut_short') }, stderr).toEqual({ code: 143, cut: false })
    expect(performance.now() - signalled).toBeLessThan(shutdownMs / 2)
    expect(await Promise.all(answers)).toEqual(['broken off', 'broken off'])
    await vi.waitFor(async () => expect(await counting()).toEqual([]), { timeout: 60_000 })
  } finally {
    await holder.query('rollback')
    holder.release()
  }
}, 240_000)
