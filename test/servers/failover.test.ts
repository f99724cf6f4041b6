import { beforeAll, expect, test, vi } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { missedRun } from '../cli/missed-run.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { type FinalTables, finalTables } from '../helpers/final-tables.ts'
import { sentTooEarly, unfinishedTogether } from '../helpers/request-log.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { ask, startDebianServer } from './debian-server.ts'
import { switchingProxy } from './switching-proxy.ts'

const hotels = 8
const patience = { timeout: 120_000, interval: 20 }
const slowly = { processing: { companyMappings: { baseMs: 2_000, perItemUs: 0 } } }

const size = { hotels, pageSize: 2, durations: slowly }

let uninterrupted: FinalTables
beforeAll(async () => {
  await using calm = await startWorld(size)
  await using folder = await workingFolder()
  const ended = await nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig], calm.environment())
  expect([0, 3], ended.stderr).toContain(ended.code)
  uninterrupted = await finalTables(calm.pool)
  expect(uninterrupted.calculator_values?.rows).toBeGreaterThan(300)
})

test.each([
  ['while the first request is at the service', `select from submission where state = 'accepted'`],
  ['while pages are loaded', `select from search_page where state = 'loaded'`],
])(
  'a primary that dies %s loses nothing: its standby takes over, and the daemon finishes the run',
  async (_, reached) => {
    await using world = await startWorld(size)
    await using folder = await workingFolder()
    await using primary = await startDebianServer()
    await ask(primary.url('postgres'), 'create database nights')
    const standby = await primary.standby()
    await using address = await switchingProxy(primary.port)
    const url = `postgres://nightferry@127.0.0.1:${address.port}/nights`
    const pool = createPool(url, { max: 2, applicationName: 'tests', searchPath: schemaName, onIdleError: () => {} })
    try {
      const daemon = start(folder.path, ['serve', '--config', demoConfig], {
        ...(await missedRun({ ...world, databaseUrl: url, pool })),
        DATABASE_URL: url,
        // What a connection that broke had in hand is found again this soon.
        NIGHTFERRY_ENGINE_HEARTBEAT_SECONDS: '10',
      })
      await vi.waitFor(async () => expect((await pool.query(reached)).rows.length).toBeGreaterThan(0), patience)
      await primary.kill()
      await standby.promote()
      address.lead(standby.port)
      await vi.waitFor(async () => {
        const { rows } = await pool.query(`select state from run where trigger = 'missed'`)
        expect(rows).toEqual([{ state: 'finished' }])
      }, patience)
      daemon.child.kill('SIGTERM')
      expect((await daemon.ended).code).toBe(143)
      expect(await finalTables(pool)).toEqual(uninterrupted)
      expect(await sentTooEarly(world.sandboxPool)).toEqual([])
      expect(await unfinishedTogether(world.sandboxPool)).toEqual([])
    } finally {
      await pool.end()
    }
  },
)
