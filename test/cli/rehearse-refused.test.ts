import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 3, seed: 7 }))
const folder = await ofThisFile(workingFolder())

async function call(...args: string[]) {
  await using empty = await testDatabase({ template: 'empty' })
  const environment = { ...world.environment(), REHEARSAL_DATABASE_URL: empty.url }
  return await nightferry(folder.path, [...args, '--config', demoConfig], environment)
}

const searches = async () =>
  (await world.sandboxPool.query<{ path: string }>(`select path from request_log where path like '%/search'`)).rows

test('a rehearsal beside a run is refused before the service is asked for anything', async () => {
  await world.pool.query(
    `insert into run (job, trigger, scheduled_for, state, step) values ('nightly-sync', 'cli', now(), 'running', 'push')`,
  )
  const ended = await call('rehearse')
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('run_under_way') })
  expect(await searches()).toEqual([])
})

test('a rehearsal with a world of another identifier is refused before the ledger is copied', async () => {
  const file = join(folder.path, 'mirror.world')
  expect(await call('sandbox', '--mirror', file)).toMatchObject({ code: 0 })
  // A run is under way since the test before, and refuses what gets as far as the ledger.
  const identifier = randomUUID()
  const ended = await call('rehearse', '--world', file, '--set', `exchange.customIdentifierId=${identifier}`)
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(`no custom property ${identifier}`) })
  expect(ended.stderr).not.toContain('The copy of the ledger')
})
