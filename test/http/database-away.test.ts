import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { served } from './served.ts'

it('without its database the API says so, keeps the metrics of the process, and is well again by itself', async () => {
  await using api = await served({ hotels: 1 })
  const url = new URL(api.world.databaseUrl)
  const name = pg.escapeIdentifier(url.pathname.slice(1))
  const admin = new pg.Client({ connectionString: Object.assign(new URL(url), { pathname: '/postgres' }).href })
  await admin.connect()
  try {
    await admin.query(`alter database ${name} with allow_connections false`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      url.pathname.slice(1),
    ])
    for (const path of ['/readyz', '/freshz']) {
      const answer = await fetch(new URL(path, api.url))
      expect(answer.status, path).toBe(503)
    }
    expect(await api.json('/v1/runs', {}, 503)).toMatchObject({ code: 'database_unreachable' })
    expect((await fetch(new URL('/livez', api.url))).status).toBe(200)
    const metrics = await (await fetch(new URL('/metrics', api.url))).text()
    expect(metrics).toContain('nightferry_database_up 0\n')
    expect(metrics).toContain('process_resident_memory_bytes ')
  } finally {
    await admin.query(`alter database ${name} with allow_connections true`)
    await admin.end()
  }
  await vi.waitFor(async () => expect((await fetch(new URL('/readyz', api.url))).status).toBe(200), {
    timeout: 60_000,
    interval: 100,
  })
  expect(await (await fetch(new URL('/metrics', api.url))).text()).toContain('nightferry_database_up 1\n')
})
