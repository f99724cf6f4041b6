import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const patienceMs = 600_000
type Rehearsed = { stop: { code: string; message: string } | null; failure: unknown; night: unknown; notes: string[] }

const world = await ofThisFile(startWorld({ migrated: true, hotels: 3, seed: 7 }))
const folder = await ofThisFile(workingFolder())
beforeAll(async () => {
  const night = await call(['run', 'nightly-sync'])
  expect(night.code, night.stderr).toBe(0)
}, patienceMs)

async function call(args: string[], environment: Record<string, string> = {}) {
  return await nightferry(folder.path, [...args, '--config', demoConfig], { ...world.environment(), ...environment })
}

async function rehearse(...args: string[]): Promise<Rehearsed & { code: number | null }> {
  await using empty = await testDatabase({ template: 'empty' })
  const ended = await call(['rehearse', '--json', ...args], { REHEARSAL_DATABASE_URL: empty.url })
  expect(ended.stdout, ended.stderr).not.toBe('')
  return { ...(JSON.parse(ended.stdout) as Rehearsed), code: ended.code }
}

test(
  'rehearse ends with 1 if the real run would stop over its destination, and says so of keys as of addresses',
  async () => {
    const file = join(folder.path, 'mirror.world')
    await call(['sandbox', '--mirror', file])
    expect(await rehearse('--world', file)).toMatchObject({ code: 0, stop: null })

    await world.pool.query('delete from destination_key')
    expect(await rehearse()).toMatchObject({ code: 0, stop: null })
    const unasked = await rehearse('--world', file)
    expect(unasked).toMatchObject({ code: 0, stop: null })
    expect(unasked.notes.join('\n')).toContain('API key is new to this ledger')

    // What the ledger knows of the profile is what another one showed.
    await world.pool.query('update submission set correlation_id = gen_random_uuid() where correlation_id is not null')
    await world.pool.query(`update reference_data set id = gen_random_uuid()::text where kind = 'custom_property'`)
    expect(await rehearse()).toMatchObject({
      code: 1,
      failure: null,
      stop: { code: 'destination_changed', message: expect.stringContaining('acts as another profile') },
    })

    const address = world.sandboxUrl
    await world.moveService()
    expect(await rehearse('--world', file)).toMatchObject({
      code: 1,
      stop: { code: 'destination_changed', message: expect.stringContaining(`address was ${address}`) },
    })
    await using empty = await testDatabase({ template: 'empty' })
    const told = await call(['rehearse', '--world', file], { REHEARSAL_DATABASE_URL: empty.url })
    expect(told.stdout).toContain('The real run would stop (destination_changed)')
  },
  patienceMs,
)
