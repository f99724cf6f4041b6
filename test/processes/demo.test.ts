import { expect, test, vi } from 'vitest'
import { packagedConfig } from '../../src/cli/read-config.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { start } from '../cli/nightferry-process.ts'
import { clusterFolder } from '../db/fixtures/cluster-process.ts'

const patience = { timeout: 60_000, interval: 50 }

test('a demo that is killed leaves no sandbox behind, and so no server', async () => {
  await using place = await clusterFolder()
  const demo = start(place.parent, ['demo', '--hotels', '2'])
  await vi.waitFor(() => expect(demo.stderr()).toContain('The first night'), patience)
  demo.child.kill('SIGKILL')
  const data = `${place.parent}/.nightferry/postgres/data`
  await vi.waitFor(async () => expect(await runningPostmaster(data)).toBeUndefined(), patience)
}, 90_000)

test('after a demo its ledger belongs to the service at the address of config/demo.yaml, where people start it again', async () => {
  await using place = await clusterFolder()
  expect(await start(place.parent, ['demo', '--hotels', '2', '--json']).ended).toMatchObject({ code: 0 })
  // The service is asked only where the destination is another, and nobody listens there.
  const shown = await start(place.parent, ['destination', '--json', '--config', packagedConfig('demo.yaml')]).ended
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(shown.stdout)).toMatchObject({
    destinations: [{ name: '127.0.0.1:4710', origin: 'http://127.0.0.1:4710' }],
    changed: [],
  })
}, 400_000)
