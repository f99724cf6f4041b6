import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { runProgram } from '../../src/embedded/run-program.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { clusterFolder } from '../db/fixtures/cluster-process.ts'
import { demoConfig } from '../helpers/world.ts'

const patience = { timeout: 60_000, interval: 10 }
/** For a process that is told to end: far below what its work would take, far above what a busy machine delays. */
const promptMs = 20_000

/** Nobody is called: there is no schedule, so nothing runs. */
const nobody = {
  EXCHANGE_BASE_URL: 'http://127.0.0.1:1',
  PARTNER_DATABASE_URL: 'postgres://reader@127.0.0.1:1/hotels',
}

async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => [])
}

async function endedPromptly(running: Running): Promise<{ code: number | null; stderr: string }> {
  const told = performance.now()
  const { code, stderr } = await running.ended
  expect(performance.now() - told, stderr).toBeLessThan(promptMs)
  return { code, stderr }
}

test('Ctrl-C while initdb works ends the demo, and leaves neither a server nor half a folder', async () => {
  await using place = await clusterFolder()
  const folder = `${place.parent}/.nightferry/postgres`
  const demo = start(place.parent, ['demo', '--hotels', '2'])
  await vi.waitFor(async () => {
    expect((await namesIn(folder)).filter((name) => name.startsWith('init-'))).toHaveLength(1)
  }, patience)
  demo.child.kill('SIGINT')
  expect(await endedPromptly(demo)).toEqual({ code: 130, stderr: expect.stringContaining('Stopping what was started') })
  expect((await namesIn(folder)).filter((name) => name.startsWith('init-') || name === 'data')).toEqual([])
}, 120_000)

test('a signal that came first keeps a program from being started at all', async () => {
  await using folder = await workingFolder()
  const made = join(folder.path, 'made')
  const { status } = await runProgram('/bin/touch', [made], undefined, AbortSignal.abort())
  expect(status).toBeNull()
  expect(await namesIn(folder.path)).toEqual([])
})

test.each([
  ['the hotel group is made', 'Making a hotel group'],
  ['the service is made', 'is made; making the service'],
])(
  'Ctrl-C while %s ends a large demo at once, and leaves no server',
  async (_, said) => {
    await using place = await clusterFolder()
    const hotels = said.includes('service') ? '3000' : '500000'
    const demo = start(place.parent, ['demo', '--hotels', hotels])
    await vi.waitFor(() => expect(demo.stderr()).toContain(said), patience)
    demo.child.kill('SIGINT')
    const { code, stderr } = await endedPromptly(demo)
    expect(code, stderr).toBe(130)
    expect(stderr).not.toContain('The first night')
    await vi.waitFor(async () => {
      expect(await runningPostmaster(`${place.parent}/.nightferry/postgres/data`)).toBeUndefined()
    }, patience)
  },
  120_000,
)

test('SIGHUP, which a closed terminal may send twice, ends a demo as SIGTERM does, and leaves no server', async () => {
  await using place = await clusterFolder()
  const demo = start(place.parent, ['demo', '--hotels', '500000'])
  await vi.waitFor(() => expect(demo.stderr()).toContain('Making a hotel group'), patience)
  demo.child.kill('SIGHUP')
  await vi.waitFor(() => expect(demo.stderr()).toContain('Stopping what was started'), patience)
  demo.child.kill('SIGHUP')
  expect((await endedPromptly(demo)).code).toBe(129)
  expect(await runningPostmaster(`${place.parent}/.nightferry/postgres/data`)).toBeUndefined()
}, 120_000)

test('two signals to serve leave no embedded server running', async () => {
  await using place = await clusterFolder()
  const daemon = start(place.parent, ['serve', '--config', demoConfig], nobody)
  await vi.waitFor(() => expect(daemon.stderr()).toContain('service_started'), patience)
  daemon.child.kill('SIGINT')
  daemon.child.kill('SIGTERM')
  const { code, stderr } = await daemon.ended
  expect([130, 143], stderr).toContain(code)
  expect(await runningPostmaster(`${place.parent}/.nightferry/postgres/data`)).toBeUndefined()
}, 120_000)

test('two signals while the embedded server starts leave none running', async () => {
  await using place = await clusterFolder()
  const folder = `${place.parent}/.nightferry/postgres`
  const daemon = start(place.parent, ['serve', '--config', demoConfig], nobody)
  // It enters itself just before it starts the server.
  await vi.waitFor(async () => expect(await namesIn(`${folder}/members`)).toHaveLength(1), patience)
  daemon.child.kill('SIGINT')
  daemon.child.kill('SIGTERM')
  const { code, stderr } = await daemon.ended
  expect([130, 143], stderr).toContain(code)
  expect(await runningPostmaster(`${folder}/data`)).toBeUndefined()
}, 120_000)
