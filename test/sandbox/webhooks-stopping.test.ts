import { afterEach, describe, expect, it, vi } from 'vitest'
import { patience } from '../helpers/patience.ts'
import { events, minuteMs, oneEvent, openWebhookWorld, type WebhookWorld } from './webhook-world.ts'

let world: WebhookWorld
afterEach(() => world.close())

const succeeded = { topics: ['bulk.task.succeeded'] }

describe('disabling', () => {
  it('stops what is queued, for good, and leaves the test button working', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ topics: ['bulk.task.scheduled', 'bulk.task.succeeded'] })
    await oneEvent(world)
    await world.change(id, { enabled: false })
    expect((await world.log(id)).map(({ status, nextAttemptAt }) => [status, nextAttemptAt])).toEqual([
      ['stopped', null],
      ['stopped', null],
    ])
    world.dispatch()
    await world.test(id)
    await world.logged(id, ([test]) => expect(test?.status).toBe('delivered'))
    await world.change(id, { enabled: true })
    world.dispatch()
    await oneEvent(world)
    world.dispatch()
    await world.logged(id, (log) =>
      expect(log.map(({ status }) => status)).toEqual(['delivered', 'delivered', 'delivered', 'stopped', 'stopped']),
    )
    expect(world.receiver.received).toHaveLength(3)
  })

  it('stops what waits behind the attempts that are under way', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe({ topics: ['application.status_changed'] })
    const underWay: (() => void)[] = []
    world.receiver.answer((response) => void underWay.push(() => response.writeHead(200).end()))
    await events(world, 20)
    world.dispatch()
    await world.receiver.gets(8)
    await world.change(id, { enabled: false })
    for (const answer of underWay) answer()
    world.receiver.answer((response) => void response.writeHead(200).end())
    await world.logged(id, (log) => expect(log.filter(({ status }) => status === 'delivered')).toHaveLength(8))
    await world.test(id)
    await world.logged(id, ([test]) => expect(test?.status).toBe('delivered'))
    expect(world.receiver.received.map(({ body }) => JSON.parse(String(body)).type)).toEqual([
      ...Array.from({ length: 8 }, () => 'application.status_changed'),
      'webhook.test',
    ])
    const { rows } = await world.sandbox.pool.query('select from sandbox.webhook_delivery where sending')
    expect(rows).toEqual([])
  })

  it('stops the retries of an attempt that is under way, and still shows its failure', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    const asked = Promise.withResolvers<() => void>()
    world.receiver.answer((response) => asked.resolve(() => response.writeHead(500).end()))
    await oneEvent(world)
    world.dispatch()
    const answer = await asked.promise
    await world.change(id, { enabled: false })
    answer()
    const [logged] = await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(1))
    expect(logged).toMatchObject({ status: 'stopped', nextAttemptAt: null })
  })
})

describe('re-sending', () => {
  it('sends a failed delivery at once, the same bytes under the same id, and begins the ladder again', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    await oneEvent(world)
    await world.sandbox.pool.query(
      "update sandbox.webhook_delivery set status = 'failed', attempted = 6, next_attempt_at = null",
    )
    const [failed] = await world.log(id)
    world.receiver.answer((response) => void response.writeHead(500).end())
    expect(await world.resend(id, failed?.id ?? '')).toBe(202)
    const [again] = await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(1))
    expect(again).toMatchObject({
      status: 'queued',
      nextAttemptAt: new Date(world.clock.now() + minuteMs).toISOString(),
    })
    const [got] = await world.receiver.gets(1)
    expect(got?.event).toEqual(failed?.payload)
  })

  it('tries a stuck delivery at once and goes on with its ladder', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    world.receiver.answer((response) => void response.writeHead(500).end())
    await oneEvent(world)
    world.dispatch()
    const [stuck] = await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(1))
    expect(await world.resend(id, stuck?.id ?? '')).toBe(202)
    const [again] = await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(2))
    expect(again?.nextAttemptAt).toBe(new Date(world.clock.now() + 5 * minuteMs).toISOString())
  })

  it('sends a delivery again at once that is re-sent during an attempt which fails, and goes on with its ladder', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    const asked = Promise.withResolvers<() => void>()
    world.receiver.answer((response) => asked.resolve(() => response.writeHead(500).end()))
    await oneEvent(world)
    world.dispatch()
    const fail = await asked.promise
    const [underWay] = await world.log(id)
    expect(await world.resend(id, underWay?.id ?? '')).toBe(202)
    world.receiver.answer((response) => void response.writeHead(500).end())
    fail()
    const [again] = await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(2))
    expect(again).toMatchObject({
      status: 'queued',
      nextAttemptAt: new Date(world.clock.now() + 5 * minuteMs).toISOString(),
    })
  })

  it('begins the ladder again for a delivery that is re-sent during the last attempt, and that attempt fails', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    await oneEvent(world)
    await world.sandbox.pool.query('update sandbox.webhook_delivery set attempted = 5')
    const asked = Promise.withResolvers<() => void>()
    world.receiver.answer((response) => asked.resolve(() => response.writeHead(500).end()))
    world.dispatch()
    const fail = await asked.promise
    const [last] = await world.log(id)
    expect(await world.resend(id, last?.id ?? '')).toBe(202)
    world.receiver.answer((response) => void response.writeHead(500).end())
    fail()
    const [again] = await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(2))
    expect(again).toMatchObject({
      status: 'queued',
      nextAttemptAt: new Date(world.clock.now() + minuteMs).toISOString(),
    })
  })

  it('does not send a delivery twice that is re-sent during an attempt which arrives', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    const asked = Promise.withResolvers<() => void>()
    world.receiver.answer((response) => asked.resolve(() => response.writeHead(204).end()))
    await oneEvent(world)
    world.dispatch()
    const arrive = await asked.promise
    const [underWay] = await world.log(id)
    expect(await world.resend(id, underWay?.id ?? '')).toBe(202)
    world.receiver.answer((response) => void response.writeHead(204).end())
    arrive()
    await world.logged(id, ([first]) => expect(first?.status).toBe('delivered'))
    await world.test(id)
    await world.logged(id, ([test]) => expect(test?.status).toBe('delivered'))
    expect((await world.log(id)).map(({ attempts }) => attempts.length)).toEqual([1, 1])
  })

  it('re-sending is refused with 409 for what has arrived, and while the webhook is disabled; unknown ones are 404', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    await oneEvent(world)
    const [queued] = await world.log(id)
    await world.change(id, { enabled: false })
    expect(await world.resend(id, queued?.id ?? '')).toBe(409)
    await world.change(id, { enabled: true })
    expect(await world.resend(id, queued?.id ?? '')).toBe(202)
    await world.logged(id, ([first]) => expect(first?.status).toBe('delivered'))
    expect(await world.resend(id, queued?.id ?? '')).toBe(409)
    expect(await world.resend(id, id)).toBe(404)
    expect(await world.resend(id, 'nonsense')).toBe(404)
    const other = await world.subscribe({ path: '/other' })
    expect(await world.resend(other.id, queued?.id ?? '')).toBe(404)
  })
})

it('the sandbox refuses to re-send what a webhook that is being disabled has stopped', async () => {
  world = await openWebhookWorld()
  const { id } = await world.subscribe(succeeded)
  await oneEvent(world)
  const [queued] = await world.log(id)
  const disabling = await world.sandbox.pool.connect()
  await disabling.query(`begin; update sandbox.webhook set enabled = false;
    update sandbox.webhook_delivery set status = 'stopped', next_attempt_at = null`)
  const resent = world.resend(id, queued?.id ?? '')
  await vi.waitFor(async () => {
    const { rows } = await world.sandbox.pool.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    expect(rows).toHaveLength(1)
  }, patience)
  await disabling.query('commit')
  disabling.release()
  expect(await resent).toBe(409)
  expect((await world.log(id))[0]?.status).toBe('stopped')
})
