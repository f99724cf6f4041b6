import { afterEach, describe, expect, it, vi } from 'vitest'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { createChaos } from '../../src/sandbox/chaos/chaos.ts'
import { rowOccasion } from '../../src/sandbox/chaos/row-chaos.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { calculators, identifiedBy, inputsOf, mapHotels, partnerId } from './bodies.ts'
import { json, wire } from './chaos-wire.ts'
import { readLog, shows, struckLines, switchTo } from './chaos-world.ts'
import type { ErrorBody, MappingFile, Task } from './documents.ts'
import { manualClock } from './manual-clock.ts'
import { contract, type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

let sandbox: OpenSandbox
afterEach(() => sandbox.close())

/** A sandbox whose tasks are struck. */
async function open(profile: string, options: Parameters<typeof openSandbox>[0] = {}): Promise<void> {
  sandbox = await openSandbox({ chaos: new Map([[profile, 1]]), ...options })
}

const taskUrl = (id: string) =>
  `${sandbox.url}${contract.endpoints.task.path.replace('{correlationId}', encodeURIComponent(id))}`
const onWire = async (id: string) => json<Task>(await wire(taskUrl(id)))

async function reaches(id: string, status: string): Promise<void> {
  await vi.waitFor(async () => expect((await sandbox.task(id)).status).toBe(status), { interval: 10, timeout: 60_000 })
}

/** The lines of the phase `chaos` about one task. */
async function doneTo(id: string): Promise<(string[] | null)[]> {
  const lines = await struckLines(sandbox)
  return lines.filter(({ correlationId, phase }) => correlationId === id && phase === 'chaos').map(({ chaos }) => chaos)
}

async function phasesOf(id: string): Promise<string[]> {
  const lines = await readLog(sandbox)
  return lines
    .filter(({ correlationId, status, phase }) => correlationId === id && (status !== null || phase === 'chaos'))
    .map(({ phase, status }) => (phase === 'chaos' ? phase : `${phase} ${status}`))
}

const holders = () => ({
  customIdentifierId: catalogue.customIdentifierId,
  holders: [{ identifier: partnerId(1), standardId: catalogue.standards[0]?.id, startDate: '2025-01-01' }],
})
const slow = { pendingMs: 1000, scheduledMs: 1000, jitter: 0, processing: { companyMappings: { baseMs: 1000 } } }

describe('what is done to a task', () => {
  shows('tasks-cancelled', 'is cancelled before it is processed', async () => {
    await open('tasks-cancelled')
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    await reaches(id, 'Cancelled')
    expect(await onWire(id)).toMatchObject({ correlationId: id, status: 'Cancelled' })
    await vi.waitFor(
      async () => expect(await phasesOf(id)).toEqual(['received Pending', 'terminal Cancelled', 'chaos']),
      patience,
    )
    expect(await doneTo(id)).toEqual([['tasks-cancelled']])
  })

  shows('tasks-stuck', 'never moves, occupies no worker, and goes on when the profile is switched off', async () => {
    await open('tasks-stuck', { workers: 1 })
    const stuck: string[] = []
    for (const number of [1, 2]) stuck.push(await sandbox.submit('companyMappings', mapHotels(number)))
    for (const id of stuck) await reaches(id, 'InProgress')
    for (const id of some(stuck)) expect((await onWire(id)).status).toBe('InProgress')
    await vi.waitFor(async () => expect(await doneTo(stuck[1] ?? '')).toEqual([['tasks-stuck']]), patience)
    await switchTo(sandbox, {})
    for (const id of stuck) await reaches(id, 'Success')
  })

  it('what is done to a task that is stuck is stuck again after a restart', async () => {
    await open('tasks-stuck')
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    await reaches(id, 'InProgress')
    await sandbox.stop()
    await sandbox.start()
    await vi.waitFor(async () => expect(await doneTo(id)).toHaveLength(2), patience)
    expect((await onWire(id)).status).toBe('InProgress')
  })

  it('what is done to a task that was stuck before a restart waits for a worker after it', async () => {
    await open('tasks-stuck', { workers: 1 })
    const stuck = []
    // More than one worker's connections could hold the snapshots of.
    for (let search = 0; search < 10; search += 1) stuck.push(await sandbox.submit('standardsSearch', {}))
    for (const id of stuck) await reaches(id, 'InProgress')
    await sandbox.stop()
    await sandbox.start({ chaos: new Map() })
    for (const id of stuck) await reaches(id, 'Success')
  })

  shows('tasks-forgotten', 'is not known any more, though it is worked on', async () => {
    await open('tasks-forgotten')
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    const answer = await wire(taskUrl(id))
    expect([answer.status, json<ErrorBody>(answer).errorCode]).toEqual([404, 'task_not_found'])
    const list = await wire(`${sandbox.url}${contract.endpoints.tasks.path}`)
    expect(json(list)).toEqual([])
    const struck = await struckLines(sandbox)
    expect(struck.map(({ httpStatus, chaos }) => [httpStatus, chaos])).toEqual([
      [404, ['tasks-forgotten']],
      [200, ['tasks-forgotten']],
    ])
    expect(struck[0]?.correlationId).toBe(id)
    await vi.waitFor(async () => expect(await phasesOf(id)).toContain('terminal Success'), patience)
    await switchTo(sandbox, {})
    expect((await onWire(id)).status).toBe('Success')
  })

  shows('statuses-repeated', 'enters InProgress several times and ends as it would have', async () => {
    await open('statuses-repeated')
    const seen = []
    for (const number of [1, 2, 3]) {
      const id = await sandbox.submit('companyMappings', mapHotels(number))
      await reaches(id, 'Success')
      const phases = await phasesOf(id)
      const repetitions = phases.filter((phase) => phase === 'chaos').length
      const again = Array.from({ length: repetitions }, () => ['chaos', 'picked_up InProgress']).flat()
      expect(phases).toEqual(['received Pending', 'picked_up InProgress', ...again, 'terminal Success'])
      expect(await doneTo(id)).toEqual(Array.from({ length: repetitions }, () => ['statuses-repeated']))
      expect((await sandbox.file<MappingFile>(await onWire(id))).companies).toHaveLength(1)
      seen.push(repetitions)
    }
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(1)
    expect(Math.max(...seen)).toBeLessThanOrEqual(3)
  })

  shows('error-without-body', 'ends in error and says nothing', async () => {
    await open('error-without-body')
    const id = await sandbox.submit('standardHoldersUpsert', holders())
    await reaches(id, 'Error')
    expect(await onWire(id)).not.toHaveProperty('error')
    expect(await doneTo(id)).toEqual([['error-without-body']])
    expect((await sandbox.pool.query('select 1 from sandbox.standard_holder')).rowCount).toBe(0)
  })

  shows('errors-without-rows', 'ends in error with a message and no rows', async () => {
    await open('errors-without-rows')
    const id = await sandbox.submit('standardHoldersUpsert', holders())
    await reaches(id, 'Error')
    expect((await onWire(id)).error).toEqual({ generalErrorMessages: [expect.any(String)], rowErrors: [] })
    expect(await doneTo(id)).toEqual([['errors-without-rows']])
  })

  shows('poison-rows', 'fails as a whole over one row, the same in every task, and passes without it', async () => {
    const chaos = new Map([['poison-rows', 0.2]])
    sandbox = await openSandbox({ chaos })
    const isPoisoned = (number: number) => createChaos(seed, chaos).fate('poison-rows', rowOccasion(partnerId(number)))
    const numbers = Array.from({ length: 30 }, (_, at) => at + 1)
    const [poisoned = 0] = numbers.filter(isPoisoned)
    const sound = numbers.filter((number) => !isPoisoned(number))
    for (const hotels of [[poisoned], [...sound, poisoned]]) {
      const id = await sandbox.submit('companyMappings', mapHotels(...hotels))
      await reaches(id, 'Error')
      expect((await onWire(id)).error).toEqual({ generalErrorMessages: [expect.any(String)], rowErrors: [] })
      expect(await onWire(id)).not.toHaveProperty('file')
      expect(await doneTo(id)).toEqual([['poison-rows']])
    }
    const id = await sandbox.submit('companyMappings', mapHotels(...sound))
    await reaches(id, 'Success')
  })

  it('what is done to a task that holds a poisoned answer, calculator, value or certificate fails over it alone', async () => {
    await open('poison-rows')
    const answers = { companies: [{ identifiedBy: identifiedBy(1), periods: [] }] }
    await reaches(await sandbox.submit('frameworkAnswersUpsert', answers), 'Error')
    expect((await struckLines(sandbox)).filter(({ phase }) => phase === 'chaos')).toEqual([])
    const point = { dataPointId: catalogue.frameworks[0]?.id, answer: { number: 1 } }
    const bodies = {
      frameworkAnswersUpsert: {
        companies: [
          { identifiedBy: identifiedBy(1), periods: [{ periodType: 'Yearly', year: 2025, answers: [point] }] },
        ],
      },
      calculatorsUpsert: calculators([inputsOf(partnerId(1), { year: 2025 }, {})]),
      companiesUpsert: {
        customIdentifierId: catalogue.customIdentifierId,
        companies: [
          { identifier: partnerId(1), customProperties: [{ propertyId: catalogue.customIdentifierId, value: 'x' }] },
        ],
      },
      standardHoldersUpsert: holders(),
    } as const
    for (const [request, body] of some(Object.entries(bodies) as [keyof typeof bodies, unknown][])) {
      const id = await sandbox.submit(request, body)
      await reaches(id, 'Error')
      expect([request, await doneTo(id)]).toEqual([request, [['poison-rows']]])
    }
  })

  shows('partial-without-rows', 'is partly successful and names no row', async () => {
    await open('partial-without-rows')
    await sandbox.run('companyMappings', mapHotels(1))
    const id = await sandbox.submit('standardHoldersUpsert', holders())
    await reaches(id, 'PartialSuccess')
    expect((await onWire(id)).error?.rowErrors ?? []).toEqual([])
    expect(await doneTo(id)).toEqual([['partial-without-rows']])
  })

  shows('success-without-pages', 'is successful and lists neither pages nor a file', async () => {
    await open('success-without-pages')
    const search = await sandbox.submit('calculatorsSearch', {})
    await reaches(search, 'Success')
    expect((await onWire(search)).pageUrls).toEqual([])
    const mapping = await sandbox.submit('companyMappings', mapHotels(1))
    await reaches(mapping, 'Success')
    expect(await onWire(mapping)).not.toHaveProperty('file')
    for (const id of [search, mapping]) expect(await doneTo(id)).toEqual([['success-without-pages']])
  })

  it('what is done to a task is none of what happens to imports with rows when the task is another', async () => {
    await open('partial-without-rows')
    const search = await sandbox.run('calculatorsSearch', {})
    expect(search.status).toBe('Success')
    expect(await struckLines(sandbox)).toEqual([])
  })

  shows(
    'unknown-statuses',
    'is shown with a status that nobody knows while it is in flight, and only then',
    async () => {
      const clock = manualClock()
      await open('unknown-statuses', { clock, durations: slow })
      const id = await sandbox.submit('companyMappings', mapHotels(1))
      const task = await onWire(id)
      expect(Object.values(contract.taskStatuses)).not.toContain(task.status)
      const [listed] = json<Task[]>(await wire(`${sandbox.url}${contract.endpoints.tasks.path}`))
      expect(Object.values(contract.taskStatuses)).not.toContain(listed?.status)
      expect((await struckLines(sandbox)).map(({ chaos }) => chaos)).toEqual([
        ['unknown-statuses'],
        ['unknown-statuses'],
      ])
      await vi.waitFor(async () => {
        clock.advance(1000)
        expect((await onWire(id)).status).toBe('Success')
      }, patience)
    },
  )
})

describe('small-first', () => {
  async function ends(): Promise<(string | null)[]> {
    return (await readLog(sandbox)).filter(({ phase }) => phase === 'terminal').map((line) => line.correlationId)
  }

  shows('small-first', 'a large task ends after a smaller one that was sent later', async () => {
    await open('small-first', { workers: 1 })
    const large = await sandbox.submit('companyMappings', mapHotels(1, 2, 3))
    await vi.waitFor(async () => expect(await doneTo(large)).toEqual([['small-first']]), patience)
    expect((await onWire(large)).status).toBe('InProgress')
    const small = await sandbox.submit('companyMappings', mapHotels(4))
    await sandbox.finished(large)
    expect(await ends()).toEqual([small, large])
    expect(await doneTo(small)).toEqual([])
  })

  it('waits ten seconds for a smaller one, and not for one that was sent earlier', async () => {
    const still = manualClock()
    let held = 0
    const clock = {
      ...still,
      wait: (ms: number, signal: AbortSignal) => {
        if (ms === 10_000) held += 1
        return still.wait(ms, signal)
      },
    }
    await open('small-first', { clock })
    const began = clock.now()
    const first = await sandbox.submit('companyMappings', mapHotels(1, 2))
    await vi.waitFor(() => expect(held).toBe(1), patience)
    clock.advance(5000)
    const second = await sandbox.submit('companyMappings', mapHotels(1, 2, 3))
    await vi.waitFor(() => expect(held).toBe(2), patience)
    clock.advance(5000)
    await reaches(first, 'Success')
    for (let look = 0; look < 20; look += 1) expect((await sandbox.task(second)).status).toBe('InProgress')
    clock.advance(5000)
    await reaches(second, 'Success')
    const endings = (await readLog(sandbox)).filter(({ phase }) => phase === 'terminal')
    expect(endings.map(({ correlationId, at }) => [correlationId, Date.parse(at) - began])).toEqual([
      [first, 10_000],
      [second, 15_000],
    ])
  })
})
