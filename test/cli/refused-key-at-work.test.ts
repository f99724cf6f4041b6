import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Finding } from '../../src/doctor/ward.ts'
import { type Engine, startEngine } from '../../src/jobs/engine.ts'
import { keyFingerprint } from '../../src/pipeline/gate/shared-gate.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 3 }))
const folder = await ofThisFile(workingFolder())
const fingerprint = keyFingerprint('the-old-key', world.sandboxUrl)
let engine: Engine | undefined

beforeEach(async () => {
  await world.pool.query(
    `insert into service_key (fingerprint, used_at, open_since, probe_at)
     values ($1, '2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z', '2026-11-20T12:01:00Z'),
            ('the key in use', '2026-11-21T12:00:00Z', null, null)
     on conflict do nothing`,
    [fingerprint],
  )
})
afterEach(() => engine?.stop())

async function ofTheKey(): Promise<Finding[]> {
  const ended = await nightferry(folder.path, ['doctor', '--config', demoConfig, '--json'], world.environment())
  const { findings } = JSON.parse(ended.stdout) as { findings: Finding[] }
  return findings.filter(({ id }) => id === 'service_key')
}

test('the doctor names a process that goes on with a key which the service refuses, though the configured key is well', async () => {
  engine = await startEngine(world.databaseUrl, world.config(), () => {}, fingerprint)
  const [found, ...more] = await ofTheKey()
  expect(found).toMatchObject({
    level: 'warning',
    what: expect.stringMatching(
      `A process.* works with another key \\(fingerprint ${fingerprint}\\), which the service refuses since 2026-11-20 12:00 UTC`,
    ),
    todo: 'set EXCHANGE_API_KEY there, and restart that process',
  })
  expect(more).toEqual([])
})

test('the doctor says nothing of a refused key with which no process works', async () => {
  engine = await startEngine(world.databaseUrl, world.config(), () => {})
  expect(await ofTheKey()).toMatchObject([{ level: 'ok' }])
})
