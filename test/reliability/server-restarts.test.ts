import { randomBytes } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { type Cluster, openCluster } from '../../src/embedded/open-cluster.ts'
import { dataFolder } from '../helpers/data-folder.ts'
import { fastSettings } from '../helpers/test-cluster.ts'
import { nextDraw } from './draws.ts'
import { atOnce, calmTables, expectSameNight, ofSize, smallNight } from './small-night.ts'

const restarts = ofSize({ XS: 4, S: 10, M: 30, L: 100 })

/** Ends the server as a crash would, and starts it again a moment later. */
async function restart(cluster: Cluster, folder: string, downMs: number): Promise<void> {
  const [pid] = (await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGQUIT')
  await vi.waitFor(() => expect(() => process.kill(Number(pid), 0)).toThrow(), { timeout: 60_000, interval: 20 })
  await delay(downMs)
  expect(await cluster.ensureRunning()).toBe(true)
}

test(`nights whose database server crashes ${restarts} times and comes back lose nothing`, async () => {
  const calm = await calmTables()
  const draw = nextDraw(6)
  const folder = join(dataFolder(), `nightferry-restarts-${randomBytes(4).toString('hex')}`)
  const cluster = await openCluster({ folder, onNotice: () => {}, settings: { ...fastSettings, fsync: 'on' } })
  try {
    for (let done = 0; done < restarts; ) {
      await using night = await smallNight()
      const name = `own_${done}`
      await cluster.ensureDatabase(name)
      const url = cluster.url(name)
      let through = false
      const trouble = (async () => {
        while (!through && done < restarts) {
          await delay(500 + draw() * 2_500)
          if (through) return
          await restart(cluster, folder, draw() * 2_000)
          done += 1
        }
      })()
      try {
        for (let runs = 1; !through; runs++) {
          const run = await night.start({ DATABASE_URL: url }).ended
          through = run.code === 0
          if (!through) expect(run.code, run.stderr).toBe(1)
          expect(runs).toBeLessThan(60)
        }
      } finally {
        through = true
        await trouble
      }
      const pool = createPool(url, {
        max: 1,
        applicationName: 'nightferry tests',
        searchPath: schemaName,
        onIdleError: () => {},
      })
      try {
        await expectSameNight(night, calm, done * atOnce, pool)
      } finally {
        await pool.end()
      }
    }
  } finally {
    await cluster.release()
    await rm(folder, { recursive: true, force: true })
  }
})
