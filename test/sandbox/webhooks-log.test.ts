import { afterEach, describe, expect, it } from 'vitest'
import { events, hourMs, minuteMs, oneEvent, openWebhookWorld, type WebhookWorld } from './webhook-world.ts'

let world: WebhookWorld
afterEach(() => world.close())

const succeeded = { topics: ['bulk.task.succeeded'] }
const dayMs = 24 * hourMs

describe('the delivery log', () => {
  it('has the payload, the moments, and each attempt with its answer and latency', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    world.receiver.answer((response) => void response.writeHead(418).end('I am a teapot'))
    const createdAt = new Date(world.clock.now()).toISOString()
    await oneEvent(world)
    world.dispatch()
    const log = await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(1))
    const [got] = await world.receiver.gets(1)
    expect(log).toEqual([
      {
        id: expect.any(String),
        eventId: got?.event.id,
        type: 'bulk.task.succeeded',
        status: 'queued',
        payload: got?.event,
        createdAt,
        nextAttemptAt: new Date(world.clock.now() + minuteMs).toISOString(),
        attempts: [
          {
            at: new Date(world.clock.now()).toISOString(),
            webhookTimestamp: Number(got?.headers['webhook-timestamp']),
            httpStatus: 418,
            error: null,
            latencyMs: expect.any(Number),
            responseExcerpt: 'I am a teapot',
          },
        ],
        chaos: null,
      },
    ])
  })

  it('the delivery log is read newest first, in pieces', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ topics: ['application.status_changed'] })
    await events(world, 5)
    const all = (await world.log(id)).map((delivery) => delivery.id)
    const read = async (query: string) => {
      const path = `/sandbox/webhooks/${id}/deliveries?${query}`
      return (await world.sandbox.call<{ id: string }[]>('GET', path)).body.map((delivery) => delivery.id)
    }
    expect(await read('limit=2')).toEqual(all.slice(0, 2))
    expect(await read(`limit=2&before=${all[1]}`)).toEqual(all.slice(2, 4))
    expect(await read(`before=${all[3]}`)).toEqual(all.slice(4))
    expect(await read(`before=${all[4]}`)).toEqual([])
  })

  it('the delivery log is kept for thirty days', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ topics: ['application.status_changed'] })
    await events(world, 3)
    world.dispatch()
    await world.logged(id, (log) => expect(log.map(({ status }) => status)).toEqual(Array(3).fill('delivered')))
    world.clock.advance(30 * dayMs - minuteMs)
    await world.test(id)
    await world.logged(id, ([test]) => expect(test?.status).toBe('delivered'))
    expect(await world.log(id)).toHaveLength(4)
    world.clock.advance(1)
    await world.sandbox.stop()
    await world.sandbox.start()
    await world.logged(id, (log) => expect(log).toHaveLength(1))
    const { rows } = await world.sandbox.pool.query('select 1 from sandbox.webhook_attempt')
    expect(rows).toHaveLength(1)
  })

  it('does not forget what is still to be sent, however far the clock leaps', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    await oneEvent(world)
    world.clock.advance(31 * dayMs)
    await world.receiver.gets(1)
    await world.logged(id, ([first]) => expect(first?.status).toBe('delivered'))
    world.dispatch()
    await world.logged(id, (log) => expect(log).toEqual([]))
  })
})
