import type { Bench, TaskRun } from '../bench.ts'
import { at, isObject, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { administer } from './administration.ts'
import { cancelling } from './cancelling.ts'
import type { Received } from './receiver.ts'
import { searches } from './searches.ts'
import { finish, runTask, submit } from './task-run.ts'
import { flush, type Webhooks, webhooks } from './webhook-set-up.ts'

/** A delivery to the main webhook and the event in it. */
export type SeenEvent = { received: Received; envelope: WireObject; type: string | null; data: WireObject }

export async function setUp(bench: Bench): Promise<Webhooks> {
  const opened = await webhooks(bench)
  if (typeof opened === 'string') throw new TypeError(opened)
  return opened
}

/** What reached a path so far, parsed; what is no event has an empty envelope. */
export function eventsAt(
  bench: Pick<Bench, 'contract'>,
  { receiver }: Pick<Webhooks, 'receiver'>,
  path: string,
): SeenEvent[] {
  const names = bench.contract.names.webhookEvent
  return receiver.received
    .filter((received) => received.path === path)
    .map((received) => {
      const envelope = parsed(received.body)
      const data = envelope[names.data]
      return { received, envelope, type: textOf(envelope[names.type]), data: isObject(data) ? data : {} }
    })
}

function parsed(body: Buffer): WireObject {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'))
    return isObject(json) ? json : {}
  } catch {
    return {}
  }
}

/** Every bulk event of everything that was sent so far: the searches, a cancelled one, and one that was re-queued. */
export async function eventsOfTasks(bench: Bench): Promise<SeenEvent[]> {
  const opened = await setUp(bench)
  await bench.once('events of tasks', async () => {
    await searches(bench)
    await cancelling(bench)
    await requeued(bench)
    await siblingSearch(bench)
    await flush(bench, opened.main)
  })
  return bulkEvents(bench, opened)
}

function bulkEvents(bench: Bench, opened: Webhooks): SeenEvent[] {
  const { test, applicationStatusChanged, applicationAnswersChanged } = bench.contract.webhookTopics
  const others: (string | null)[] = [test, applicationStatusChanged, applicationAnswersChanged]
  return eventsAt(bench, opened, '/main').filter(({ type }) => type !== null && !others.includes(type))
}

/** Events of one task, after one more dispatch for those that were recorded since the last. */
export async function eventsOf(bench: Bench, run: TaskRun): Promise<SeenEvent[]> {
  const opened = await setUp(bench)
  await flush(bench, opened.main)
  const { correlationId } = bench.contract.names.bulkEvent
  return bulkEvents(bench, opened).filter(({ data }) => data[correlationId] === run.correlationId)
}

/** Searches while the sandbox re-queues every task: each enters an in-flight status more than once. */
export function requeued(bench: Bench): Promise<TaskRun[]> {
  return bench.once('re-queued', async () => {
    const endpoint = bench.contract.endpoints.standardsSearch
    const before = await chaosNow(bench)
    const set = (profiles: Record<string, number>) => administer(bench, 'PUT', 'chaos', { body: { profiles } })
    // Before it is switched on: a run that is stopped meanwhile does not learn whether it was.
    bench.atEnd(() => set(before))
    await set({ ...before, 'statuses-repeated': 1, 'pending-repeated': 1 })
    try {
      const runs: TaskRun[] = []
      for (let nth = 0; nth < 6; nth += 1) runs.push(await submit(bench, 'standardsSearch', endpoint, {}))
      await finish(bench, runs)
      return runs
    } finally {
      await set(before)
    }
  })
}

/** The trouble that is on, with its shares. */
async function chaosNow(bench: Bench): Promise<Record<string, number>> {
  const { json } = await administer(bench, 'GET', 'chaos')
  const on: Record<string, number> = {}
  for (const { name, share } of objectsOf(at(json, 'profiles'))) {
    if (typeof name === 'string' && typeof share === 'number') on[name] = share
  }
  return on
}

/** A search of another integration of the same profile; null without its key. */
export function siblingSearch(bench: Bench): Promise<TaskRun | null> {
  return bench.once('search of the sibling', async () => {
    if (bench.siblingKey === null) return null
    const endpoint = bench.contract.endpoints.standardsSearch
    return await runTask(bench, 'standardsSearch', endpoint, {}, { key: bench.siblingKey })
  })
}
