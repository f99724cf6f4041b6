import { afterEach, describe, expect, it } from 'vitest'
import { deliveryChaos } from '../../src/sandbox/webhooks/delivery-chaos.ts'
import { inTime } from '../helpers/in-time.ts'
import { some } from '../helpers/some.ts'
import { mapHotels } from './bodies.ts'
import { hourMs, minuteMs, oldestFirst, openWebhookWorld, type WebhookWorld } from './webhook-world.ts'

let world: WebhookWorld
afterEach(() => world.close())

const always = (...profiles: string[]) => new Map(profiles.map((profile) => [profile, 1]))
const ends = { topics: ['bulk.task.succeeded'] }

function statuses(): unknown[] {
  return world.receiver.received.map(({ event }) => event.data.status)
}

describe('webhooks-lost', () => {
  it('never sends a delivery, and shows it in the log as stopped', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-lost') })
    const { id } = await world.subscribe(ends)
    await world.sandbox.run('companyMappings', mapHotels(1))
    world.dispatch()
    await world.test(id)
    await world.logged(id, ([test]) => expect(test?.status).toBe('delivered'))
    expect((await world.log(id)).at(-1)).toMatchObject({
      status: 'stopped',
      nextAttemptAt: null,
      attempts: [],
      chaos: ['webhooks-lost'],
    })
    expect(statuses()).toEqual(['Test'])
  })

  it('leaves a delivery that can be re-sent', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-lost') })
    const { id } = await world.subscribe(ends)
    await world.sandbox.run('companyMappings', mapHotels(1))
    const [lost] = await world.log(id)
    expect(await world.resend(id, lost?.id ?? '')).toBe(202)
    await world.receiver.gets(1)
  })
})

describe('webhooks-late', () => {
  it('sends a delivery after 8.5 hours of the clock of the sandbox, signed at that moment', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-late') })
    const { id } = await world.subscribe(ends)
    await world.sandbox.run('companyMappings', mapHotels(1))
    const recordedAt = world.clock.now()
    expect(await world.log(id)).toEqual([
      expect.objectContaining({
        status: 'queued',
        nextAttemptAt: new Date(recordedAt + 8.5 * hourMs).toISOString(),
        chaos: ['webhooks-late'],
      }),
    ])
    world.clock.advance(8.5 * hourMs - minuteMs)
    await world.test(id)
    await world.logged(id, ([test]) => expect(test?.status).toBe('delivered'))
    expect(statuses()).toEqual(['Test'])
    world.dispatch()
    const [, late] = await world.receiver.gets(2)
    expect(late?.event.timestamp).toBe(new Date(recordedAt).toISOString())
  })
})

describe('webhooks-doubled', () => {
  it('sends a delivery once more after it arrived, the same bytes under the same id', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-doubled') })
    const { id } = await world.subscribe(ends)
    await world.sandbox.run('companyMappings', mapHotels(1))
    world.dispatch()
    const [first, second] = await world.receiver.gets(2)
    expect(second?.body).toEqual(first?.body)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    const [logged] = await world.logged(id, ([one]) => expect(one?.attempts).toHaveLength(2))
    expect(logged).toMatchObject({ status: 'delivered', chaos: ['webhooks-doubled'] })
  })

  it('leaves it delivered when the receiver refuses the second', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-doubled') })
    const { id } = await world.subscribe(ends)
    await world.sandbox.run('companyMappings', mapHotels(1))
    world.receiver.answer((response) => {
      response.writeHead(world.receiver.received.length === 1 ? 200 : 409).end()
    })
    world.dispatch()
    const [logged] = await world.logged(id, ([one]) => expect(one?.attempts).toHaveLength(2))
    expect(logged).toMatchObject({ status: 'delivered', nextAttemptAt: null })
  })
})

describe('webhooks-reordered', () => {
  it('sends the end of a task before what was in flight, one after the other, the last first', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-reordered') })
    const { id } = await world.subscribe()
    await world.sandbox.run('companyMappings', mapHotels(1))
    const recorded = oldestFirst(await world.log(id)).map(({ type }) => type)
    expect(recorded).toEqual(['bulk.task.scheduled', 'bulk.task.in_progress', 'bulk.task.succeeded'])
    world.dispatch()
    await world.receiver.gets(3)
    expect(statuses()).toEqual(['Success', 'InProgress', 'Scheduled'])
    for (const { chaos } of some(await world.log(id))) expect(chaos).toEqual(['webhooks-reordered'])
  })

  it('keeps an event in flight waiting across dispatches until the task has ended', async () => {
    const durations = {
      pendingMs: 0,
      scheduledMs: 0,
      jitter: 0,
      processing: { companyMappings: { baseMs: 10 * minuteMs } },
    }
    world = await openWebhookWorld({ chaos: always('webhooks-reordered'), durations })
    const { id } = await world.subscribe()
    const correlationId = await world.sandbox.submit('companyMappings', mapHotels(1))
    await world.logged(id, (log) => expect(log).toHaveLength(2))
    for (let passed = 0; passed < 5; passed += 1) world.dispatch()
    await world.test(id)
    await world.receiver.gets(1)
    expect(statuses()).toEqual(['Test'])
    world.clock.advance(6 * minuteMs)
    await world.sandbox.finished(correlationId)
    world.dispatch()
    await world.receiver.gets(4)
    expect(statuses()).toEqual(['Test', 'Success', 'InProgress', 'Scheduled'])
  })

  it('sends what was kept waiting after an hour, when no end of the task is subscribed to', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-reordered') })
    await world.subscribe({ topics: ['bulk.task.scheduled'] })
    await world.sandbox.run('companyMappings', mapHotels(1))
    world.clock.advance(hourMs)
    await world.receiver.gets(1)
    expect(statuses()).toEqual(['Scheduled'])
  })
})

describe('webhooks-early', () => {
  it('sends a delivery at once, before the request that it is about is answered', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-early') })
    const { id } = await world.subscribe({ topics: ['bulk.task.scheduled'] })
    let answered = false
    let early: boolean | undefined
    world.receiver.answer((response) => {
      early = !answered
      response.writeHead(200).end()
    })
    const correlationId = await world.sandbox.submit('companyMappings', mapHotels(1))
    answered = true
    expect(early).toBe(true)
    expect(world.receiver.received.map(({ event }) => event.data.correlationId)).toEqual([correlationId])
    await world.logged(id, ([one]) => expect(one).toMatchObject({ status: 'delivered', chaos: ['webhooks-early'] }))
  })

  it('does not keep the answer waiting for ever: a receiver that is silent costs five seconds', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-early') })
    await world.subscribe({ topics: ['bulk.task.scheduled'] })
    world.receiver.answer(() => undefined)
    const began = performance.now()
    expect(await inTime(9_000, world.sandbox.submit('companyMappings', mapHotels(1)))).toBe(true)
    expect(performance.now() - began).toBeGreaterThan(4_900)
  })

  it('does not keep the answer waiting where the profile has no webhook', async () => {
    world = await openWebhookWorld({ chaos: always('webhooks-early'), durations: { pendingMs: hourMs } })
    expect(await inTime(4_000, world.sandbox.submit('companyMappings', mapHotels(1)))).toBe(true)
  })
})

it('never strikes what the Test button sends', async () => {
  world = await openWebhookWorld({ chaos: always(...Object.values(deliveryChaos)) })
  const { id } = await world.subscribe()
  await world.test(id)
  const [logged] = await world.logged(id, ([test]) => expect(test?.status).toBe('delivered'))
  expect(logged).toMatchObject({ chaos: null, attempts: [expect.anything()] })
})
