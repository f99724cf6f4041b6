import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load-config.ts'
import { createPool } from '../../src/db/database.ts'
import { startEngine } from '../../src/jobs/engine.ts'
import { testDatabase } from '../helpers/postgres.ts'

/** The kernel counts its timers in hundredths of a second. */
const ticksInSecond = 100
const keepAliveTimer = '02'

/**
 * Seconds until the kernel asks whether the other end of a connection is still there, by the port at our end; those
 * without such a timer are left out. A network that died silently is noticed by nothing else.
 */
async function secondsToKeepAlive(): Promise<Map<number, number>> {
  const lines = (await readFile('/proc/self/net/tcp', 'latin1')).trim().split('\n').slice(1)
  return new Map(
    lines.flatMap((line) => {
      const [, local = '', , , , timer = ''] = line.trim().split(/\s+/)
      const [kind, ticks = ''] = timer.split(':')
      const port = Number.parseInt(local.split(':')[1] ?? '', 16)
      return kind === keepAliveTimer ? [[port, Number.parseInt(ticks, 16) / ticksInSecond] as const] : []
    }),
  )
}

const ownPort = (client: pg.PoolClient) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream.localPort ?? 0

test('a connection to our own database whose network died in silence is noticed within a minute', async () => {
  const { url } = await testDatabase()
  const pool = createPool(url, { max: 1, applicationName: 'half-open', searchPath: 'public', onIdleError: () => {} })
  try {
    const client = await pool.connect()
    const seconds = (await secondsToKeepAlive()).get(ownPort(client))
    client.release()
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(20)
  } finally {
    await pool.end()
  }
})

test('a connection of the queue whose network died in silence is noticed within a minute', async () => {
  const { url } = await testDatabase()
  const engine = await startEngine(url, loadConfig({ file: null, environment: {} }), () => {})
  const pool = createPool(url, { max: 1, applicationName: 'half-open', searchPath: 'public', onIdleError: () => {} })
  try {
    const { rows } = await pool.query<{ port: number }>(
      `select client_port as port from pg_stat_activity
       where datname = current_database() and application_name = 'nightferry queue'`,
    )
    expect(rows.length).toBeGreaterThan(0)
    const timers = await secondsToKeepAlive()
    const seconds = rows.map(({ port }) => timers.get(port))
    // One without a timer would be waited for as long as the kernel likes.
    expect(seconds.filter((one) => one === undefined || one > 20)).toEqual([])
  } finally {
    await pool.end()
    await engine.stop()
  }
})
