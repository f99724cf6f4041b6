import { randomBytes, randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { requestElsewhere } from '../db/ledger/ledger.ts'
import { contract } from '../exchange/test-client.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import {
  applicationEvent,
  bulkEvent,
  deliver,
  openInbox,
  otherSecret,
  testEvent,
  type Written,
  written,
} from './inbox-world.ts'

const world = await ofThisFile(openInbox())
afterEach(() => world.clear())

const { webhookTopics: topics } = contract
const looks = async () => (await world.ferry.asked()).map(({ look, inMs }) => `${look} in ${Math.round(inMs)}`)

describe('an event of a task', () => {
  it('asks for a look at the request once, at once, however often it is delivered', async () => {
    const { url } = await world.listen()
    const correlationId = randomUUID()
    const id = await world.submission('accepted', correlationId)
    const event = bulkEvent(correlationId)
    for (let delivery = 1; delivery <= 3; delivery++) {
      expect(await deliver(url, event)).toBe(204)
      expect(await world.done(1)).toMatchObject([{ effect: 'look', submission_id: id, deliveries: delivery }])
    }
    expect(await looks()).toEqual([`look-at-submission ${id} in 0`])
  })

  it('an event of a task is found whichever way its correlation id is spelt', async () => {
    const { url } = await world.listen()
    const correlationId = randomUUID().toUpperCase()
    const id = await world.submission('accepted', correlationId.toLowerCase())
    await deliver(url, bulkEvent(correlationId))
    expect(await world.done(1)).toMatchObject([{ effect: 'look', submission_id: id }])
  })

  it.each([topics.pending, topics.scheduled, topics.inProgress])('does nothing if it is %s', async (topic) => {
    const { url } = await world.listen()
    const correlationId = randomUUID()
    await world.submission('accepted', correlationId)
    await deliver(url, bulkEvent(correlationId, topic))
    expect(await world.done(1)).toMatchObject([{ effect: 'in_flight', topic }])
    expect(await looks()).toEqual([])
  })

  it.each(['terminal', 'settled', 'refused', 'lost', 'abandoned'] as const)(
    'does nothing if the request is %s',
    async (state) => {
      const { url } = await world.listen()
      const correlationId = randomUUID()
      const id = await world.submission(state, correlationId)
      await deliver(url, bulkEvent(correlationId, topics.error, 'Error'))
      expect(await world.done(1)).toMatchObject([{ effect: 'ended', submission_id: id }])
      expect(await looks()).toEqual([])
      expect(await world.ferry.submission(id)).toMatchObject({ state, task_status: null })
    },
  )

  it('never stores what it says as the status of the task', async () => {
    const { url } = await world.listen()
    const correlationId = randomUUID()
    const id = await world.submission('accepted', correlationId)
    await deliver(url, bulkEvent(correlationId, topics.error, 'Error'))
    await world.done(1)
    expect(await world.ferry.submission(id)).toMatchObject({ state: 'accepted', task_status: null, terminal_at: null })
  })

  it('leaves a request whose run has ended to the next run', async () => {
    const { url } = await world.listen()
    const correlationId = randomUUID()
    await world.submission('accepted', correlationId)
    await world.ferry.ledger.startRun()
    await deliver(url, bulkEvent(correlationId))
    expect(await world.done(1)).toMatchObject([{ effect: 'run_over' }])
    expect(await looks()).toEqual([])
  })

  it('an event of a task waits for no request of a destination that is not in use', async () => {
    await using _ = await requestElsewhere(world.ferry.ledger, { state: 'uncertain' })
    const { url } = await world.listen()
    await deliver(url, bulkEvent(randomUUID()))
    expect(await world.done(1)).toMatchObject([{ effect: 'not_ours' }])
  })

  it.each(['sending', 'uncertain'] as const)(
    'an event of a task that comes before the answer to a %s request is stored has its effect once it is',
    async (state) => {
      const { url } = await world.listen()
      const correlationId = randomUUID()
      const id = await world.submission(state)
      await deliver(url, bulkEvent(correlationId))
      await deliver(url, bulkEvent(randomUUID()))
      await expect
        .poll(async () => (await world.stored()).map((event) => event.state), patience)
        .toEqual(['waiting', 'waiting'])
      expect(await looks()).toEqual([])
      await world.ferry.ledger.db
        .updateTable('submission')
        .set({ state: 'accepted', correlation_id: correlationId })
        .where('submission_id', '=', id)
        .execute()
      expect(await world.done(2)).toMatchObject([{ effect: 'look', submission_id: id }, { effect: 'not_ours' }])
      expect(await looks()).toEqual([`look-at-submission ${id} in 0`])
    },
  )

  it('an event of a task has its effect behind others with ids that no index could hold', async () => {
    const { url } = await world.listen()
    const correlationId = randomUUID()
    const id = await world.submission('accepted', correlationId)
    const long = randomBytes(6_000).toString('base64url')
    await deliver(url, applicationEvent(long, 'Approved'))
    await deliver(url, bulkEvent(long))
    await deliver(url, bulkEvent(correlationId))
    expect(await world.done(3)).toMatchObject([
      { effect: 'unreadable', topic: topics.applicationStatusChanged },
      { effect: 'unreadable', topic: topics.success },
      { effect: 'look', submission_id: id },
    ])
  })

  it('an event of another integration is kept apart and does nothing', async () => {
    const { url } = await world.listen()
    await world.submission('accepted', randomUUID())
    await deliver(url, bulkEvent(randomUUID()))
    expect(await world.done(1)).toMatchObject([{ effect: 'not_ours', submission_id: null }])
    expect(await looks()).toEqual([])
  })

  it('an event of a task that a daemon stored and did not work off is worked off by the next', async () => {
    const correlationId = randomUUID()
    const id = await world.submission('accepted', correlationId)
    const { id: event_id, body: payload } = bulkEvent(correlationId)
    await world.ferry.ledger.db.insertInto('webhook_event').values({ event_id, payload }).execute()
    await world.listen()
    await world.done(1)
    expect(await looks()).toEqual([`look-at-submission ${id} in 0`])
  })

  it('has one effect when two daemons receive it at the same time', async () => {
    const [one, two] = [await world.listen(), await world.listen()]
    const correlationIds = Array.from({ length: 40 }, () => randomUUID())
    const ids: number[] = []
    for (const correlationId of correlationIds) ids.push(await world.submission('accepted', correlationId))
    const events = correlationIds.map((correlationId) => bulkEvent(correlationId))
    await Promise.all(events.flatMap((event) => [deliver(one.url, event), deliver(two.url, event)]))
    for (const { deliveries, effect } of some(await world.done(40))) {
      expect([deliveries, effect]).toEqual([2, 'look'])
    }
    expect((await looks()).toSorted()).toEqual(ids.map((id) => `look-at-submission ${id} in 0`).toSorted())
  })
})

describe('an event of another kind', () => {
  it('an event of another kind is kept: a test of nulls, applications, a topic that nobody knows', async () => {
    const { url } = await world.listen()
    const events: [Written, string][] = [
      [testEvent(), 'test'],
      [applicationEvent(randomUUID(), 'AwaitingApplicationReview'), 'kept'],
      [applicationEvent(randomUUID(), null), 'kept'],
      [written('bulk.task.paused', { correlationId: randomUUID() }), 'unknown_topic'],
    ]
    for (const [event] of events) expect(await deliver(url, event)).toBe(204)
    const stored = await world.done(4)
    expect(stored.map(({ event_id, effect }) => [event_id, effect])).toEqual(
      events.map(([{ id }, effect]) => [id, effect]),
    )
    expect(stored.map(({ payload }) => payload)).toEqual(events.map(([{ body }]) => body))
    expect(await looks()).toEqual([])
  })

  it('an unknown topic is reported once, however many events of it come', async () => {
    const lines: string[] = []
    const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
    const { url } = await world.listen({}, Date.now, logger)
    for (let event = 0; event < 3; event++) await deliver(url, written('bulk.task.paused', {}))
    await deliver(url, written('bulk.task.resumed', {}))
    await world.done(4)
    await world.stopListening()
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(told.map(({ code, topic }) => [code, topic])).toEqual([
      ['webhook_unknown_topic', 'bulk.task.paused'],
      ['webhook_unknown_topic', 'bulk.task.resumed'],
    ])
  })

  const huge = 9e15
  it.each([
    ['no JSON', '{"id":'],
    ['nothing', ''],
    ['a list', '[]'],
    ['a thousand brackets', '['.repeat(1000)],
    ['an envelope without data', JSON.stringify({ id: 'event-1', type: topics.success })],
    ['data that are a text', JSON.stringify({ id: 'event-1', type: topics.success, data: 'x' })],
    [
      'a correlation id that is an object',
      JSON.stringify({ id: 'event-1', type: topics.success, data: { correlationId: {} } }),
    ],
    ["another event's id", JSON.stringify({ id: 'event-2', type: topics.test, data: {} })],
  ])('an event whose body is %s is kept as unreadable', async (_, body) => {
    const { url } = await world.listen()
    expect(await deliver(url, { id: 'event-1', body })).toBe(204)
    expect(await world.done(1)).toMatchObject([{ effect: 'unreadable', payload: body }])
  })

  it.each([
    ['a NUL in its status', { status: 'a\0b', profileId: 1 }],
    ['half a surrogate pair', { status: '\ud800' }],
    ['a number too large to be one', { status: 'x', profileId: huge * 1e9 }],
    ['members of the wrong kind', { status: { a: 1 }, profileId: 'x', apiKeyId: [] }],
  ])('an event with %s does not stop those after it', async (_, data) => {
    const { url } = await world.listen()
    const id = randomUUID()
    const body = JSON.stringify({
      id,
      type: topics.success,
      timestamp: '+275760-01-01T00:00:00Z',
      data: { correlationId: 'x\0y', ...data },
    })
    expect(await deliver(url, { id, body })).toBe(204)
    expect(await deliver(url, testEvent())).toBe(204)
    expect(await world.done(2)).toMatchObject([{ effect: 'not_ours' }, { effect: 'test' }])
  })
})

it('R12: a thousand events, each delivered one to six times in any order, a tenth early, have one effect each, and forged ones none', async () => {
  const { url } = await world.listen()
  const random = mulberry(12)
  const events = Array.from({ length: 1_000 }, (_, place) => ({
    event: bulkEvent(randomUUID()),
    early: place % 10 === 0,
    forged: place % 20 === 7,
  }))
  const correlationOf = ({ body }: Written) =>
    (JSON.parse(body) as { data: { correlationId: string } }).data.correlationId
  const ids = new Map<string, number>()
  for (const { event, early } of events) {
    ids.set(
      event.id,
      early ? await world.submission('sending') : await world.submission('accepted', correlationOf(event)),
    )
  }
  const deliveries = events
    .flatMap(({ event, forged }) =>
      Array.from({ length: 1 + Math.floor(random() * 6) }, () => ({ event, forged, order: random() })),
    )
    .toSorted((a, b) => a.order - b.order)
  let sent = 0
  const accepting = async () => {
    // The answers to the early ones come while deliveries go on.
    for (const { event, early } of events) {
      if (!early) continue
      await expect.poll(() => sent, { timeout: 60_000 }).toBeGreaterThan(deliveries.length / 3)
      await world.ferry.ledger.db
        .updateTable('submission')
        .set({ state: 'accepted', correlation_id: correlationOf(event) })
        .where('submission_id', '=', ids.get(event.id) ?? 0)
        .execute()
    }
  }
  const queue = deliveries.values()
  const worker = async () => {
    for (const { event, forged } of queue) {
      expect(await deliver(url, event, forged ? { secret: otherSecret } : {})).toBe(forged ? 400 : 204)
      sent += 1
    }
  }
  await Promise.all([...Array.from({ length: 16 }, worker), accepting()])

  const genuine = events.filter(({ forged }) => !forged)
  const stored = await world.done(genuine.length)
  expect(stored).toHaveLength(genuine.length)
  const delivered = Map.groupBy(deliveries, ({ event }) => event.id)
  for (const { event_id, effect, submission_id, deliveries: counted } of some(stored)) {
    expect([effect, submission_id, counted]).toEqual(['look', ids.get(event_id), delivered.get(event_id)?.length])
  }
  expect((await looks()).toSorted()).toEqual(
    genuine.map(({ event }) => `look-at-submission ${ids.get(event.id)} in 0`).toSorted(),
  )
}, 120_000)

function mulberry(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
