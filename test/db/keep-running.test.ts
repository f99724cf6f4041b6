import { readFile } from 'node:fs/promises'
import { expect, it, vi } from 'vitest'
import { type Cluster, keepRunning } from '../../src/embedded/open-cluster.ts'
import { EmbeddedPostgresError } from '../../src/embedded/run-program.ts'
import { patience } from '../helpers/patience.ts'

/** Fails with an error of the system: a folder is not read as a file. */
const unread = async (): Promise<boolean> => (await readFile('/')).length > 0

/** Cares for a server whose looks go as these say in turn, and the last from then on. */
function looking(...looks: (() => Promise<boolean>)[]) {
  const ensureRunning = vi.fn(async () => (looks.length > 1 ? looks.shift() : looks[0])?.() ?? false)
  const keeper = keepRunning({ data: '/data', ensureRunning } as unknown as Cluster, () => {}, 1)
  return { ...keeper, ensureRunning }
}
const runs = async () => false

it('a look at the embedded server that could not read a file once, or now and then, does not end the daemon', async () => {
  const { lost, stop, ensureRunning } = looking(
    unread,
    unread,
    runs,
    unread,
    unread,
    unread,
    runs,
    unread,
    unread,
    runs,
  )
  await vi.waitFor(() => expect(ensureRunning.mock.calls.length).toBeGreaterThan(10), patience)
  await stop()
  expect(lost.aborted).toBe(false)
})

it('the embedded server counts as lost when no look in a row could read its file', async () => {
  const { lost, stop, ensureRunning } = looking(unread)
  await vi.waitFor(() => expect(lost.aborted).toBe(true), patience)
  await stop()
  expect(lost.reason).toMatchObject({ code: 'EISDIR' })
  expect(ensureRunning).toHaveBeenCalledTimes(5)
})

it('the embedded server counts as lost at once when it cannot be had back', async () => {
  const { lost, stop, ensureRunning } = looking(async () => {
    throw new EmbeddedPostgresError('Its data are gone.')
  })
  await vi.waitFor(() => expect(lost.aborted).toBe(true), patience)
  await stop()
  expect(ensureRunning).toHaveBeenCalledTimes(1)
})
