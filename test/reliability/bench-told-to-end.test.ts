import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { patience } from '../helpers/patience.ts'

const bench = fileURLToPath(new URL('../../bench/settlement.ts', import.meta.url))

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('a benchmark that %s ends leaves no server and no folder behind', async (signal, code) => {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-told-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const environment = { PATH: process.env.PATH, TMPDIR: folder }
  const child = spawn(process.execPath, [bench, '--rows', '100000'], { env: environment, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const server = await vi.waitFor(() => postmasterIn(folder), patience)
  child.kill(signal)
  expect(await ended).toEqual([code, null])
  expect(await readdir(folder)).toEqual([])
  await vi.waitFor(() => expect(() => process.kill(server, 0)).toThrow('ESRCH'), patience)
})

test('what a benchmark opens while it closes is closed as well', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-told-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const script = fileURLToPath(new URL('./opened-late.ts', import.meta.url))
  const environment = { PATH: process.env.PATH, TMPDIR: folder }
  const child = spawn(process.execPath, [script], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (text: Buffer) => {
    said += String(text)
  })
  const ended = once(child, 'exit')
  await vi.waitFor(() => expect(said).toBe('ready\n'), patience)
  child.kill('SIGTERM')
  expect(await ended).toEqual([143, null])
  expect(said.split('\n').toSorted()).toEqual(['', 'closed late', 'ready', 'the benchmark ends'])
  expect(await readdir(folder)).toEqual([])
})

/** The process of the server that the benchmark has started, once it takes connections. */
async function postmasterIn(folder: string): Promise<number> {
  const [own] = (await readdir(folder)).filter((name) => name.startsWith('nightferry-settlement-'))
  const lines = (await readFile(join(folder, own ?? '', 'data', 'postmaster.pid'), 'utf8')).split('\n')
  expect(lines[7]).toMatch(/^ready/)
  return Number(lines[0])
}
