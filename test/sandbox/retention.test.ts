import { afterEach, expect, it, vi } from 'vitest'
import { patience } from '../helpers/patience.ts'
import { mapHotels } from './bodies.ts'
import { manualClock } from './manual-clock.ts'
import { type OpenSandbox, openSandbox } from './open-sandbox.ts'

const dayMs = 86_400_000

let sandbox: OpenSandbox
afterEach(() => sandbox.close())

async function counts(): Promise<unknown> {
  const { rows } = await sandbox.pool.query(
    `select (select count(*)::int from sandbox.task) as tasks, (select count(*)::int from sandbox.file) as files,
            (select count(*)::int from sandbox.file_chunk) as chunks,
            (select count(*)::int from sandbox.request_log where correlation_id is not null) as lines`,
  )
  return rows[0]
}

it('the sandbox removes tasks that ended, their files and their lines in the log after so many days, and nothing younger', async () => {
  const clock = manualClock()
  sandbox = await openSandbox({ clock, retentionDays: 10, fileUrlLifetimeMs: 100 * dayMs })
  const old = await sandbox.run('companyMappings', mapHotels(1))
  expect((await fetch(old.file?.url ?? '')).status).toBe(200)
  clock.advance(9 * dayMs)
  const young = await sandbox.run('companyMappings', mapHotels(2))
  clock.advance(dayMs - 1)
  expect((await sandbox.task(old.correlationId)).status).toBe('Success')

  clock.advance(dayMs)
  await vi.waitFor(async () => expect(await counts()).toMatchObject({ tasks: 1, files: 1 }), patience)
  expect(await sandbox.call('GET', `/api/v2/bulk/tasks/${old.correlationId}`)).toMatchObject({
    status: 404,
    body: { errorCode: 'task_not_found' },
  })
  const gone = await fetch(old.file?.url ?? '')
  expect(gone.status).toBe(404)
  await gone.body?.cancel()
  await vi.waitFor(async () => {
    const { rows } = await sandbox.pool.query('select from sandbox.request_log where at < $1', [
      new Date(clock.now() - 10 * dayMs),
    ])
    expect(rows).toEqual([])
  }, patience)
  expect(await sandbox.file(await sandbox.task(young.correlationId))).toMatchObject({ companies: [{ id: 'H-0002' }] })
})

it('the sandbox keeps a task that has not ended, however old, with its request', async () => {
  const clock = manualClock()
  const processing = { companyMappings: { baseMs: 0, perItemUs: 0 } }
  const durations = { pendingMs: 100 * dayMs, scheduledMs: 0, jitter: 0, processing }
  sandbox = await openSandbox({ clock, durations, retentionDays: 1 })
  const waiting = await sandbox.submit('companyMappings', mapHotels(1))
  clock.advance(99 * dayMs)
  await vi.waitFor(async () => {
    const { rows } = await sandbox.pool.query('select from sandbox.request_log where correlation_id = $1', [waiting])
    expect(rows).toEqual([])
  }, patience)
  expect((await sandbox.task(waiting)).status).toBe('Pending')
  clock.advance(2 * dayMs)
  expect(await sandbox.finished(waiting)).toMatchObject({ status: 'Success' })
})
