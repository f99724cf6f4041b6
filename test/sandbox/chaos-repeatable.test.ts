import { afterEach, describe, expect, it, vi } from 'vitest'
import { mapHotels } from './bodies.ts'
import { type Exchange, exchange, wire } from './chaos-wire.ts'
import { type LogLine, readLog } from './chaos-world.ts'
import type { Task } from './documents.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { contract, type OpenSandbox, openSandbox } from './open-sandbox.ts'

let sandbox: OpenSandbox | undefined
afterEach(() => sandbox?.close())

/** Trouble of every family that a script can be told apart by. */
const trouble = new Map([
  ['latency', 0.3],
  ['rate-limited', 0.2],
  ['server-errors', 0.2],
  ['lost-answer', 0.3],
  ['cut-answer', 0.2],
  ['unknown-fields', 0.5],
  ['unknown-statuses', 0.5],
  ['statuses-repeated', 0.5],
  ['tasks-cancelled', 0.2],
  ['tasks-forgotten', 0.2],
  ['error-without-body', 0.2],
  ['pages-missing', 0.2],
  ['pages-cut', 0.2],
  ['malformed-pages', 0.5],
])

/** The whole answer, while the clock is moved on for whatever waits. */
async function through(asked: Exchange, clock: ManualClock): Promise<void> {
  await vi.waitFor(
    () => {
      clock.advance(50)
      expect(asked.ended()).not.toBeNull()
    },
    { interval: 5, timeout: 60_000 },
  )
}

/** The log of the same calls, one after the other, against a world of this seed. */
async function logOf(seed: number): Promise<Told[]> {
  const clock = manualClock()
  const open = await openSandbox({ seed, clock, chaos: trouble, pageSize: 20 })
  sandbox = open
  const call = async (path: string, sent = {}) => {
    const asked = exchange(`${open.url}${path}`, sent)
    await through(asked, clock)
  }
  const { companyMappings, calculatorsSearch, unitTypes, groups } = contract.endpoints
  for (const number of [1, 2, 3, 4, 5, 6]) {
    await call(companyMappings.path, { method: 'POST', body: mapHotels(number) })
    await call(unitTypes.path)
    await call(groups.path)
    if (number % 2 === 0) await call(calculatorsSearch.path, { method: 'POST', body: {} })
  }
  await vi.waitFor(
    async () => {
      clock.advance(250)
      const { rows } = await open.pool.query('select 1 from sandbox.task where finished_at is null')
      expect(rows).toEqual([])
    },
    { interval: 10, timeout: 60_000 },
  )
  const tasks = await tasksOf(open)
  for (const id of tasks) await call(contract.endpoints.task.path.replace('{correlationId}', id))
  for (const url of await filesOf(open, tasks)) await wire(url, { key: null })
  const lines = await readLog(open)
  await open.close()
  sandbox = undefined
  return told(lines)
}

async function tasksOf(open: OpenSandbox): Promise<string[]> {
  const { rows } = await open.pool.query<{ id: string }>('select id from sandbox.task order by sequence')
  return rows.map(({ id }) => id)
}

/** The addresses of all result files, as the service tells them when nothing troubles it. */
async function filesOf(open: OpenSandbox, ids: string[]): Promise<string[]> {
  const trouble = (await open.call<{ profiles: { name: string; share: number | null }[] }>('GET', '/sandbox/chaos'))
    .body
  const on = Object.fromEntries(trouble.profiles.flatMap(({ name, share }) => (share === null ? [] : [[name, share]])))
  await open.call('PUT', '/sandbox/chaos', { body: { profiles: {} } })
  const urls: string[] = []
  for (const id of ids) {
    const { body } = await open.call<Task>('GET', contract.endpoints.task.path.replace('{correlationId}', id))
    urls.push(...(body.pageUrls ?? []), ...(body.file ? [body.file.url] : []))
  }
  await open.call('PUT', '/sandbox/chaos', { body: { profiles: on } })
  return urls
}

type Told = Pick<LogLine, 'method' | 'path' | 'httpStatus' | 'task' | 'phase' | 'status' | 'chaos' | 'identifiers'>

/**
 * What struck the requests of the script that do not depend on the world: which hotels there are differs by seed too.
 */
function struckBySeed(lines: Told[]): (string[] | null)[] {
  const { unitTypes, groups } = contract.endpoints
  return lines.filter(({ path }) => path === unitTypes.path || path === groups.path).map(({ chaos }) => chaos)
}

/**
 * What the log tells without what is random: correlation ids and the names of files. Requests in their order, and what
 * became of each task in its own order: tasks run side by side.
 */
function told(lines: LogLine[]): Told[] {
  const line = ({ method, path, httpStatus, task, phase, status, chaos, identifiers }: LogLine) => ({
    ...{ method, httpStatus, task, phase, status, chaos, identifiers },
    path: path.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, '…').replace(/\/files\/.*/, '/files/…'),
  })
  const requests = lines.filter(({ phase }) => phase === 'received')
  const courses = lines.filter(({ phase }) => phase !== 'received').toSorted((a, b) => (a.task ?? 0) - (b.task ?? 0))
  return [...requests, ...courses].map(line)
}

describe('the log of a script', () => {
  it('the log of a script is the same twice under one seed, and another under another', {
    timeout: 120_000,
  }, async () => {
    const first = await logOf(7)
    expect(first.filter(({ chaos }) => chaos !== null).length).toBeGreaterThan(15)
    expect(await logOf(7)).toEqual(first)
    const other = await logOf(8)
    expect(struckBySeed(other)).toHaveLength(12)
    expect(struckBySeed(other)).not.toEqual(struckBySeed(first))
  })
})
