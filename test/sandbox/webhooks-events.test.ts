import { afterEach, describe, expect, it, vi } from 'vitest'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { createChaos } from '../../src/sandbox/chaos/chaos.ts'
import { inTransaction } from '../../src/sandbox/running-sandbox.ts'
import type { LoggedDelivery } from '../../src/sandbox/webhooks/delivery-log.ts'
import type { ApplicationEvent } from '../../src/sandbox/webhooks/event-body.ts'
import { recordApplicationEvent } from '../../src/sandbox/webhooks/record-event.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { mapHotels } from './bodies.ts'
import { contract } from './open-sandbox.ts'
import type { Envelope } from './webhook-receiver.ts'
import { allTopics, minuteMs, oldestFirst, openWebhookWorld, refuseRows, type WebhookWorld } from './webhook-world.ts'

let world: WebhookWorld
afterEach(() => world.close())

const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
const keyId = (key: string) => catalogue.apiKeys.find((apiKey) => apiKey.key === key)?.id

function typesOf(log: readonly LoggedDelivery[]): string[] {
  return oldestFirst(log).map((delivery) => delivery.type)
}

function payloads(log: readonly LoggedDelivery[]): Envelope[] {
  return oldestFirst(log).map((delivery) => delivery.payload as Envelope)
}

/** Lets a task that waits at each step reach its end. */
const steps = { pendingMs: 1000, scheduledMs: 1000, jitter: 0, processing: { companyMappings: { baseMs: 1000 } } }

async function reaches(correlationId: string, status: string): Promise<void> {
  await vi.waitFor(async () => expect((await world.sandbox.task(correlationId)).status).toBe(status), {
    ...patience,
    interval: 10,
  })
}

describe('a bulk request', () => {
  it.each([
    ['Success', [1], 'bulk.task.succeeded'],
    ['PartialSuccess', [1, 50], 'bulk.task.partially_succeeded'],
  ])(
    'fires scheduled, in_progress and its end, %s, and nothing for the initial Pending',
    async (status, hotels, end) => {
      world = await openWebhookWorld()
      const { id } = await world.subscribe()
      const task = await world.sandbox.finished(await world.sandbox.submit('companyMappings', mapHotels(...hotels)))
      expect(task.status).toBe(status)
      expect(typesOf(await world.log(id))).toEqual(['bulk.task.scheduled', 'bulk.task.in_progress', end])
    },
  )

  it('fires failed when it ends in Error', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ topics: ['bulk.task.failed'] })
    const body = { customIdentifierId: catalogue.customIdentifierId, companies: [] as unknown[] }
    body.companies = [
      { identifier: 'nobody', customProperties: [{ propertyId: catalogue.brandPropertyId, value: 'x' }] },
    ]
    const correlationId = await world.sandbox.submit('companiesUpsert', body)
    expect((await world.sandbox.finished(correlationId)).status).toBe('Error')
    expect(payloads(await world.log(id))).toEqual([
      expect.objectContaining({
        type: 'bulk.task.failed',
        data: expect.objectContaining({ correlationId, status: 'Error', requestType: 'BulkUpsertCompanies' }),
      }),
    ])
  })

  it.each(['Pending', 'Scheduled'])('fires cancelled when it is cancelled while it is %s', async (from) => {
    world = await openWebhookWorld({ durations: steps })
    const { id } = await world.subscribe()
    const correlationId = await world.sandbox.submit('companyMappings', mapHotels(1))
    if (from === 'Scheduled') world.clock.advance(1000)
    await reaches(correlationId, from)
    await world.sandbox.call('POST', `/api/v2/bulk/tasks/${correlationId}/cancel`)
    const log = await world.log(id)
    expect(typesOf(log)).toEqual([...(from === 'Scheduled' ? ['bulk.task.scheduled'] : []), 'bulk.task.cancelled'])
    expect(payloads(log).at(-1)?.data).toMatchObject({ correlationId, status: 'Cancelled' })
  })

  it('fires in_progress again, with another id, when it is re-queued into that status', async () => {
    world = await openWebhookWorld({ durations: steps })
    const { id } = await world.subscribe({ topics: ['bulk.task.in_progress'] })
    const correlationId = await world.sandbox.submit('companyMappings', mapHotels(1))
    world.clock.advance(1000)
    await reaches(correlationId, 'Scheduled')
    world.clock.advance(1000)
    await reaches(correlationId, 'InProgress')
    await world.sandbox.stop()
    await world.sandbox.start()
    const log = await world.logged(id, (lines) => expect(lines).toHaveLength(2))
    expect(payloads(log).map((event) => event.data)).toEqual(
      Array(2).fill(expect.objectContaining({ correlationId, status: 'InProgress' })),
    )
    expect(new Set(log.map((delivery) => delivery.eventId)).size).toBe(2)
  })

  it('a bulk request is described by its kind, its request type as the task endpoint names it, its profile and its key', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ topics: ['bulk.task.succeeded'] })
    const search = await world.sandbox.run('calculatorsSearch', {}, 'sibling-key')
    const mapping = await world.sandbox.run('companyMappings', mapHotels(1))
    const events = payloads(await world.log(id))
    expect(events.map((event) => event.data)).toEqual([
      {
        correlationId: search.correlationId,
        taskKind: 'BulkProcessingRequest',
        requestType: search.requestType,
        status: 'Success',
        profileId: 4711,
        apiKeyId: keyId('sibling-key'),
      },
      {
        correlationId: mapping.correlationId,
        taskKind: 'CompanyMappingRequest',
        requestType: null,
        status: 'Success',
        profileId: 4711,
        apiKeyId: keyId('demo-key'),
      },
    ])
    expect(search.requestType).toBe('BulkGetCompanyCalculators')
  })

  it('has one event for all webhooks of the profile, whose id is not that of the task', async () => {
    world = await openWebhookWorld()
    const first = await world.subscribe({ topics: ['bulk.task.succeeded'] })
    const second = await world.subscribe({ path: '/second', topics: ['bulk.task.succeeded'] })
    const task = await world.sandbox.run('companyMappings', mapHotels(1))
    const events = [...payloads(await world.log(first.id)), ...payloads(await world.log(second.id))]
    expect(events).toHaveLength(2)
    expect(events[0]).toEqual(events[1])
    expect(events[0]?.id).not.toBe(task.correlationId)
  })

  it("reaches no webhook of another profile, none that is disabled, and none without the event's topic", async () => {
    world = await openWebhookWorld()
    const own = await world.subscribe()
    const sibling = await world.subscribe({ path: '/sibling', key: 'sibling-key' })
    const other = await world.subscribe({ path: '/other', key: 'other-key' })
    const disabled = await world.subscribe({ path: '/disabled', enabled: false })
    const elsewhere = await world.subscribe({ path: '/elsewhere', topics: ['bulk.task.cancelled'] })
    await world.sandbox.run('companyMappings', mapHotels(1))
    expect(await world.log(own.id)).toHaveLength(3)
    expect(await world.log(sibling.id)).toHaveLength(3)
    expect(await world.log(other.id, 'other-key')).toEqual([])
    expect(await world.log(disabled.id)).toEqual([])
    expect(await world.log(elsewhere.id)).toEqual([])
  })

  it('fires for the webhooks that are enabled and subscribed when its status changes, not later', async () => {
    world = await openWebhookWorld({ durations: steps })
    const { id } = await world.subscribe({ topics: ['bulk.task.scheduled', 'bulk.task.succeeded'], enabled: false })
    const correlationId = await world.sandbox.submit('companyMappings', mapHotels(1))
    world.clock.advance(1000)
    await reaches(correlationId, 'Scheduled')
    await world.change(id, { enabled: true, topics: allTopics })
    world.clock.advance(1000)
    await reaches(correlationId, 'InProgress')
    world.clock.advance(2000)
    await reaches(correlationId, 'Success')
    expect(typesOf(await world.log(id))).toEqual(['bulk.task.in_progress', 'bulk.task.succeeded'])
  })

  it('changes its status only together with the event', async () => {
    world = await openWebhookWorld()
    const { pool } = world.sandbox
    const { id } = await world.subscribe({ topics: ['bulk.task.scheduled'] })
    const acceptAgain = await refuseRows(pool, 'sandbox.webhook_delivery')
    const correlationId = await world.sandbox.submit('companyMappings', mapHotels(1))
    const waits = async () => (await pool.query('select status from sandbox.task')).rows
    await acceptAgain()
    expect(await waits()).toEqual([{ status: 'pending' }])
    world.clock.advance(1000)
    await world.sandbox.finished(correlationId)
    expect(await world.log(id)).toHaveLength(1)
  })
})

describe('the envelope', () => {
  it('has an id, the topic that matched, the moment of the event in UTC with milliseconds, and data', async () => {
    world = await openWebhookWorld()
    world.clock.advance(7)
    const { id } = await world.subscribe({ topics: ['bulk.task.succeeded'] })
    await world.sandbox.run('companyMappings', mapHotels(1))
    const recordedAt = new Date(world.clock.now()).toISOString()
    const [logged] = await world.log(id)
    expect(logged?.payload).toEqual({
      id: uuid,
      type: 'bulk.task.succeeded',
      timestamp: recordedAt,
      data: expect.any(Object),
    })
    expect(recordedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.007Z$/)
    world.clock.advance(10 * minuteMs)
    const [got] = await world.receiver.gets(1)
    expect(got?.event).toEqual(logged?.payload)
    expect(got?.event.id).toBe(got?.headers['webhook-id'])
    expect(got?.event.id).toBe(logged?.eventId)
  })

  it('points to the task and carries no result', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe()
    await world.sandbox.run('companyMappings', mapHotels(1, 2, 50))
    for (const event of some(payloads(await world.log(id)))) {
      expect(Object.keys(event)).toEqual(['id', 'type', 'timestamp', 'data'])
      expect(Object.keys(event.data)).toEqual(Object.values(contract.names.bulkEvent))
    }
  })
})

describe('a test event', () => {
  it('has the status Test, its own id as the correlation id, and otherwise null', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ topics: ['bulk.task.failed'] })
    const { eventId, deliveryId } = await world.test(id)
    const [got] = await world.receiver.gets(1)
    expect(got?.event).toEqual({
      id: eventId,
      type: 'webhook.test',
      timestamp: new Date(world.clock.now()).toISOString(),
      data: {
        correlationId: eventId,
        taskKind: null,
        requestType: null,
        status: 'Test',
        profileId: null,
        apiKeyId: null,
      },
    })
    const [logged] = await world.logged(id, ([first]) => expect(first?.status).toBe('delivered'))
    expect(logged?.id).toBe(deliveryId)
  })
})

describe('an application', () => {
  const applicationId = 'a0000000-0000-4000-8000-000000000001'
  const certifier = 4713

  function happens(event: Partial<ApplicationEvent> & Pick<ApplicationEvent, 'change'>): Promise<void> {
    const { clock, sandbox } = world
    const recorder = { contract, clock, chaos: createChaos(1) }
    return inTransaction(sandbox.pool, (client) =>
      recordApplicationEvent(client, recorder, { applicationId, profileId: certifier, status: null, ...event }),
    )
  }

  it('fires status_changed with the status reached, and answers_changed with null', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ key: 'certifier-key' })
    await happens({ change: 'status', status: contract.names.application.awaitingApplicationReview })
    await happens({ change: 'answers' })
    expect(payloads(await world.log(id, 'certifier-key'))).toEqual([
      {
        id: uuid,
        type: 'application.status_changed',
        timestamp: expect.any(String),
        data: { applicationId, status: 'AwaitingApplicationReview', profileId: certifier },
      },
      {
        id: uuid,
        type: 'application.answers_changed',
        timestamp: expect.any(String),
        data: { applicationId, status: null, profileId: certifier },
      },
    ])
  })

  it('fires for the profile that owns it only, although any profile may subscribe', async () => {
    world = await openWebhookWorld()
    const own = await world.subscribe({ key: 'certifier-key' })
    const other = await world.subscribe({ path: '/other' })
    await happens({ change: 'status', status: 'x' })
    expect(await world.log(own.id, 'certifier-key')).toHaveLength(1)
    expect(await world.log(other.id)).toEqual([])
  })

  it('folds further changes of its answers into the delivery that waits, and of no other application', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ key: 'certifier-key' })
    for (let i = 0; i < 5; i += 1) await happens({ change: 'answers' })
    await happens({ change: 'answers', applicationId: 'a0000000-0000-4000-8000-000000000002' })
    await happens({ change: 'status', status: 'x' })
    await happens({ change: 'answers' })
    expect(typesOf(await world.log(id, 'certifier-key'))).toEqual([
      'application.answers_changed',
      'application.answers_changed',
      'application.status_changed',
    ])
  })

  it('fires every change of status, without folding', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ key: 'certifier-key' })
    for (const status of ['a', 'b', 'a']) await happens({ change: 'status', status })
    const events = payloads(await world.log(id, 'certifier-key'))
    expect(events.map((event) => event.data.status)).toEqual(['a', 'b', 'a'])
  })

  it('folds into a delivery that failed and waits for its next attempt, but not into one that has arrived', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ key: 'certifier-key' })
    world.receiver.answer((response) => void response.writeHead(503).end())
    await happens({ change: 'answers' })
    world.dispatch()
    await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(1), 'certifier-key')
    await happens({ change: 'answers' })
    expect(await world.log(id, 'certifier-key')).toHaveLength(1)
    world.receiver.answer((response) => void response.writeHead(200).end())
    world.dispatch()
    await world.logged(id, ([first]) => expect(first?.status).toBe('delivered'), 'certifier-key')
    await happens({ change: 'answers' })
    expect(await world.log(id, 'certifier-key')).toHaveLength(2)
  })

  it('does not fold into a delivery whose attempt has begun: the receiver may have read the answers by then', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ key: 'certifier-key' })
    const asked = Promise.withResolvers<() => void>()
    world.receiver.answer((response) => asked.resolve(() => response.writeHead(200).end()))
    await happens({ change: 'answers' })
    world.dispatch()
    const answer = await asked.promise
    await happens({ change: 'answers' })
    expect(await world.log(id, 'certifier-key')).toHaveLength(2)
    world.receiver.answer((response) => void response.writeHead(200).end())
    answer()
    world.dispatch()
    await world.receiver.gets(2)
  })

  it('folds per webhook: what one still waits for has reached another', async () => {
    world = await openWebhookWorld()
    const down = await world.subscribe({ path: '/down', key: 'certifier-key' })
    const up = await world.subscribe({ path: '/up', key: 'certifier-key' })
    world.receiver.answer((response, { path }) => void response.writeHead(path === '/up' ? 200 : 503).end())
    await happens({ change: 'answers' })
    world.dispatch()
    await world.logged(up.id, ([first]) => expect(first?.status).toBe('delivered'), 'certifier-key')
    await world.logged(down.id, ([first]) => expect(first?.attempts).toHaveLength(1), 'certifier-key')
    await happens({ change: 'answers' })
    expect(await world.log(down.id, 'certifier-key')).toHaveLength(1)
    expect(await world.log(up.id, 'certifier-key')).toHaveLength(2)
  })

  it('fires nothing when the transaction that changed it is undone', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ key: 'certifier-key' })
    const undone = inTransaction(world.sandbox.pool, async (client) => {
      const recorder = { contract, clock: world.clock, chaos: createChaos(1) }
      await recordApplicationEvent(client, recorder, {
        applicationId,
        profileId: certifier,
        change: 'status',
        status: 'x',
      })
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await world.log(id, 'certifier-key')).toEqual([])
  })
})
