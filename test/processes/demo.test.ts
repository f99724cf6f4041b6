import { expect, test, vi } from 'vitest'
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
