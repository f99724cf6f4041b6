import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { electricity } from '../../src/sandbox/catalogue/calculator-types.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { calculators, inputsOf, mapHotels, partnerId } from './bodies.ts'
import type { CalculatorFile, ErrorBody, MappingFile, Task } from './documents.ts'
import { manualClock } from './manual-clock.ts'
import { contract, type OpenSandbox, openSandbox } from './open-sandbox.ts'

let sandbox: OpenSandbox
afterEach(() => sandbox.close())

const slow = { pendingMs: 1000, scheduledMs: 1000, jitter: 0, processing: { companyMappings: { baseMs: 1000 } } }

async function reaches(correlationId: string, status: string): Promise<void> {
  await vi.waitFor(async () => expect((await sandbox.task(correlationId)).status).toBe(status), {
    ...patience,
    interval: 10,
  })
}

function cancel(correlationId: string, key = 'demo-key') {
  return sandbox.call<Task & ErrorBody>('POST', `/api/v2/bulk/tasks/${correlationId}/cancel`, { key })
}

describe('the course of a task', () => {
  it('goes from Pending over Scheduled and InProgress to its end, each of them seen at the task endpoint', async () => {
    const clock = manualClock()
    sandbox = await openSandbox({ clock, durations: slow })
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    expect(await sandbox.task(id)).toEqual({
      correlationId: id,
      status: 'Pending',
      requestType: null,
      taskKind: 'CompanyMappingRequest',
      createdAt: new Date(clock.now()).toISOString(),
      apiKeyId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    })
    clock.advance(1000)
    await reaches(id, 'Scheduled')
    clock.advance(1000)
    await reaches(id, 'InProgress')
    clock.advance(2000)
    await reaches(id, 'Success')
  })

  it('shows no file before the task has ended', async () => {
    const clock = manualClock()
    sandbox = await openSandbox({ clock, durations: slow })
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    clock.advance(1000)
    await reaches(id, 'Scheduled')
    clock.advance(1000)
    const written = async () => (await sandbox.pool.query('select token from sandbox.file')).rows[0]?.token
    const token = await vi.waitFor(async () => {
      const found = await written()
      expect(found).toBeDefined()
      return found
    }, patience)
    expect((await sandbox.call('GET', `/files/${token}`, { key: null })).status).toBe(404)
    expect(await sandbox.task(id)).not.toHaveProperty('file')
    clock.advance(2000)
    const task = await sandbox.finished(id)
    expect(task.file?.url).toContain(`/files/${token}?`)
  })

  it('picks up in the order sent and lets a small later request finish before a large earlier one', async () => {
    sandbox = await openSandbox({
      workers: 3,
      durations: {
        pendingMs: 0,
        scheduledMs: 0,
        jitter: 0,
        processing: { companyMappings: { baseMs: 0, perItemUs: 80_000 } },
      },
    })
    const sent = []
    for (const size of [50, 1, 10, 1, 5]) {
      sent.push(await sandbox.submit('companyMappings', mapHotels(...Array.from({ length: size }, (_, i) => i + 1))))
    }
    for (const id of sent) await sandbox.finished(id)
    const inOrderOf = async (phase: string): Promise<string[]> => {
      const { rows } = await sandbox.pool.query<{ correlation_id: string }>(
        'select correlation_id from sandbox.request_log where phase = $1 and correlation_id is not null and status is not null order by id',
        [phase],
      )
      return rows.map((row) => row.correlation_id)
    }
    expect(await inOrderOf('received')).toEqual(sent)
    expect(await inOrderOf('picked_up')).toEqual(sent)
    const ended = await inOrderOf('terminal')
    expect(ended.toSorted()).toEqual(sent.toSorted())
    expect(ended.indexOf(sent[1] ?? '')).toBeLessThan(ended.indexOf(sent[0] ?? ''))
  })

  it('processes no more tasks at once than it has workers', async () => {
    const clock = manualClock()
    sandbox = await openSandbox({ clock, workers: 2, durations: { ...slow, pendingMs: 0, scheduledMs: 0 } })
    const ids = []
    for (const number of [1, 2, 3]) ids.push(await sandbox.submit('companyMappings', mapHotels(number)))
    await reaches(ids[1] ?? '', 'InProgress')
    await reaches(ids[2] ?? '', 'Scheduled')
    clock.advance(5000)
    await reaches(ids[2] ?? '', 'InProgress')
    // Either of the two made room.
    await reaches(ids[0] ?? '', 'Success')
    clock.advance(5000)
    await reaches(ids[2] ?? '', 'Success')
  })

  it('takes up again what was in process when it stopped, through the same in-flight status', async () => {
    const clock = manualClock()
    sandbox = await openSandbox({ clock, durations: slow })
    const first = await sandbox.submit('companyMappings', mapHotels(1, 50))
    clock.advance(1000)
    await reaches(first, 'Scheduled')
    clock.advance(1000)
    await reaches(first, 'InProgress')
    const second = await sandbox.submit('companyMappings', mapHotels(2))
    await sandbox.stop()
    await sandbox.start()
    await vi.waitFor(async () => {
      const { rows } = await sandbox.pool.query('select attempts from sandbox.task where id = $1', [first])
      expect(rows[0]?.attempts).toBe(2)
    }, patience)
    expect((await sandbox.task(first)).status).toBe('InProgress')
    clock.advance(1000)
    await reaches(second, 'Scheduled')
    clock.advance(1000)
    await reaches(second, 'InProgress')
    clock.advance(2000)
    await reaches(first, 'PartialSuccess')
    await reaches(second, 'Success')
    const { rows } = await sandbox.pool.query(
      'select phase, status from sandbox.request_log where correlation_id = $1 and status is not null order by id',
      [first],
    )
    expect(rows).toEqual([
      { phase: 'received', status: 'Pending' },
      { phase: 'picked_up', status: 'InProgress' },
      { phase: 'picked_up', status: 'InProgress' },
      { phase: 'terminal', status: 'PartialSuccess' },
    ])
    const file = await sandbox.file<MappingFile>(await sandbox.task(first))
    expect(file.companies).toHaveLength(2)
  })
})

it('re-queues a task whose database connection was cut, and finishes it', async () => {
  sandbox = await openSandbox()
  await sandbox.run('companyMappings', mapHotels(1))
  const lock = await sandbox.pool.connect()
  try {
    await lock.query('begin')
    await lock.query('select 1 from sandbox.company for update')
    const inputs = inputsOf(partnerId(1), { year: 2025 }, { [electricity.id]: '5' })
    const id = await sandbox.submit('calculatorsUpsert', calculators([inputs]))
    await vi.waitFor(async () => {
      const { rowCount } = await sandbox.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      )
      expect(rowCount).toBe(1)
    }, patience)
    await vi.waitFor(async () => {
      const { rows } = await sandbox.pool.query('select attempts, status from sandbox.task where id = $1', [id])
      expect(rows).toEqual([{ attempts: 2, status: 'inProgress' }])
    }, patience)
    await lock.query('rollback')
    const task = await sandbox.finished(id)
    expect(task.status).toBe('Success')
    expect((await sandbox.file<CalculatorFile>(task)).companies).toHaveLength(1)
  } finally {
    lock.release(true)
  }
})

describe('cancelling', () => {
  it('cancels a Pending and a Scheduled task, and neither is ever picked up', async () => {
    const clock = manualClock()
    sandbox = await openSandbox({ clock, durations: slow })
    const scheduled = await sandbox.submit('companyMappings', mapHotels(1))
    clock.advance(1000)
    await reaches(scheduled, 'Scheduled')
    const pending = await sandbox.submit('companyMappings', mapHotels(2))
    for (const id of [scheduled, pending]) {
      const answer = await cancel(id)
      expect([answer.status, answer.body.status]).toEqual([200, 'Cancelled'])
    }
    const later = await sandbox.submit('companyMappings', mapHotels(3))
    clock.advance(1000)
    await reaches(later, 'Scheduled')
    clock.advance(1000)
    await reaches(later, 'InProgress')
    clock.advance(2000)
    await reaches(later, 'Success')
    const { rows } = await sandbox.pool.query(
      "select correlation_id from sandbox.request_log where phase = 'picked_up'",
    )
    expect(rows.map((row) => row.correlation_id)).toEqual([later])
    expect((await sandbox.task(pending)).status).toBe('Cancelled')
  })

  it('answers 409 once processing has begun, and after the end', async () => {
    const clock = manualClock()
    sandbox = await openSandbox({ clock, durations: { ...slow, pendingMs: 0, scheduledMs: 0 } })
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    await reaches(id, 'InProgress')
    const during = await cancel(id)
    expect([during.status, during.body.errorCode]).toEqual([409, 'task_not_cancellable'])
    clock.advance(2000)
    await reaches(id, 'Success')
    expect((await cancel(id)).status).toBe(409)
  })
})

describe('reading tasks', () => {
  it("answers 404 to an unknown task, to nonsense and to another profile's task, reading or cancelling", async () => {
    sandbox = await openSandbox()
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    for (const [wanted, key] of [
      [catalogue.groupId, 'demo-key'],
      ['nonsense', 'demo-key'],
      ['x'.repeat(300), 'demo-key'],
      [id, 'other-key'],
    ] as const) {
      const read = await sandbox.call('GET', `/api/v2/bulk/tasks/${wanted}`, { key })
      expect([read.status, read.body.errorCode]).toEqual([404, 'task_not_found'])
      expect((await cancel(wanted, key)).status).toBe(404)
    }
    expect((await sandbox.finished(id)).status).toBe('Success')
  })

  it("lists the profile's tasks newest first, without results", async () => {
    sandbox = await openSandbox()
    const first = await sandbox.submit('companyMappings', mapHotels(1))
    await sandbox.finished(first)
    const second = await sandbox.submit('calculatorsSearch', {})
    await sandbox.submit('calculatorsSearch', {}, 'other-key')
    await sandbox.finished(second)
    const { body } = await sandbox.call<Task[]>('GET', '/api/v2/bulk/tasks')
    expect(body.map((task) => task.correlationId)).toEqual([second, first])
    expect(body.map((task) => task.requestType)).toEqual(['BulkGetCompanyCalculators', null])
    for (const task of some(body)) expect(Object.keys(task)).not.toContain('file')
  })

  it('lists by the time that it shows, although another key of the profile was stored a moment earlier', async () => {
    sandbox = await openSandbox()
    const earlier = await sandbox.submit('calculatorsSearch', {})
    const later = await sandbox.submit('calculatorsSearch', {}, 'sibling-key')
    await Promise.all([earlier, later].map((id) => sandbox?.finished(id)))
    await sandbox.pool.query(
      `update sandbox.task set created_at = (select created_at from sandbox.task where id = $2) + interval '1 ms' where id = $1`,
      [earlier, later],
    )
    const { body } = await sandbox.call<Task[]>('GET', '/api/v2/bulk/tasks')
    expect(body.map(({ correlationId }) => correlationId)).toEqual([earlier, later])
  })
})

describe('refusals', () => {
  it.each([
    ['no JSON', '{"a"'],
    ['an array', '[]'],
    ['a string', '"x"'],
    ['nothing', ''],
    ['companies of another shape', JSON.stringify({ ...mapHotels(1), companies: {} })],
    ['a company that is no object', JSON.stringify({ ...mapHotels(1), companies: [1] })],
  ])('answers 400 to %s and queues nothing', async (_what, raw) => {
    sandbox = await openSandbox()
    const answer = await sandbox.call('POST', contract.endpoints.companyMappings.path, { raw })
    expect(answer).toEqual({ status: 400, body: { errorCode: expect.any(String), message: expect.any(String) } })
    expect((await sandbox.call('GET', '/api/v2/bulk/tasks')).body).toEqual([])
  })

  it('answers 415 to a body that does not say that it is JSON', async () => {
    sandbox = await openSandbox()
    const response = await fetch(`${sandbox.url}${contract.endpoints.companyMappings.path}`, {
      method: 'POST',
      headers: { authorization: 'demo-key', 'content-type': 'text/plain' },
      body: JSON.stringify(mapHotels(1)),
    })
    expect(response.status).toBe(415)
  })

  it('answers 415 to a body in a content coding, and takes one that names none', async () => {
    sandbox = await openSandbox()
    const { method, path } = contract.endpoints.calculatorsSearch
    const statusOf = async (coding: string, body: Buffer | string, key = 'demo-key') => {
      const headers = { authorization: key, 'content-type': 'application/json', 'content-encoding': coding }
      const response = await fetch(`${sandbox.url}${path}`, { method, headers, body })
      const answer = (await response.json()) as { errorCode?: string }
      return [response.status, answer.errorCode, response.headers.get('accept-encoding')]
    }
    const refused = [415, 'content_coding_unsupported', 'identity']
    expect(await statusOf('gzip', gzipSync('{}'))).toEqual(refused)
    expect(await statusOf('identity, br', '{}')).toEqual(refused)
    expect(await statusOf('Identity', '{}')).toEqual([200, undefined, null])
    expect(await statusOf('gzip', gzipSync('{}'), 'nobodys-key')).toEqual([401, 'api_key_unknown', null])
  })
})
