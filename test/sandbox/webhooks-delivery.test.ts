import { afterEach, describe, expect, it, vi } from 'vitest'
import { inTime } from '../helpers/in-time.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { events, hourMs, minuteMs, oneEvent, openWebhookWorld, refuseRows, type WebhookWorld } from './webhook-world.ts'

let world: WebhookWorld
afterEach(() => world.close())

const succeeded = { topics: ['bulk.task.succeeded'] }
const dayMs = 24 * hourMs

describe('a delivery', () => {
  it('a delivery is a POST of JSON with id, timestamp and signature, and the custom header', async () => {
    world = await openWebhookWorld()
    await world.subscribe({ ...succeeded, header: { name: 'X-Hotel', value: 'Bearer a b' } })
    await oneEvent(world)
    const before = Math.floor(Date.now() / 1000)
    world.dispatch()
    const [got] = await world.receiver.gets(1)
    expect([got?.method, got?.path]).toEqual(['POST', '/hook'])
    expect(got?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': got?.event.id,
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
      'x-hotel': 'Bearer a b',
    })
    const timestamp = String(got?.headers['webhook-timestamp'])
    expect(timestamp).toMatch(/^\d+$/)
    expect(Number(timestamp)).toBeGreaterThanOrEqual(before)
    expect(Number(timestamp)).toBeLessThanOrEqual(Math.floor(Date.now() / 1000))
  })

  it('a delivery is stamped with real time, although the clock of the sandbox shows another', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    world.clock.advance(400 * dayMs)
    await oneEvent(world)
    world.dispatch()
    const [got] = await world.receiver.gets(1)
    expect(Math.abs(Number(got?.headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(60)
    const [logged] = await world.logged(id, ([first]) => expect(first?.status).toBe('delivered'))
    expect(logged?.attempts[0]?.at).toBe(new Date(world.clock.now()).toISOString())
    expect(String(logged?.attempts[0]?.webhookTimestamp)).toBe(got?.headers['webhook-timestamp'])
  })

  it('waits for the next dispatch, about a minute apart', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    await oneEvent(world)
    world.clock.advance(minuteMs - 1)
    const { deliveryId } = await world.test(id)
    await world.logged(id, ([test]) => expect(test?.status).toBe('delivered'))
    expect((await world.log(id)).map(({ id: one, status }) => [one === deliveryId, status])).toEqual([
      [true, 'delivered'],
      [false, 'queued'],
    ])
    world.clock.advance(1)
    await world.receiver.gets(2)
  })

  it('comes as often as the setting says', async () => {
    world = await openWebhookWorld({ webhookDispatchMs: 500 })
    await world.subscribe(succeeded)
    await oneEvent(world)
    world.clock.advance(500)
    await world.receiver.gets(1)
  })

  it('has succeeded with any 2xx, and failed with every other status, redirects among them', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe()
    const pressed = async (status: number) => {
      world.receiver.answer((response) => {
        response.writeHead(status, { location: `${world.receiver.url}/elsewhere` }).end()
      })
      const { deliveryId } = await world.test(id)
      const made = await world.logged(id, ([first]) => {
        expect(first?.id).toBe(deliveryId)
        expect(first?.status).not.toBe('queued')
      })
      expect(made[0]?.attempts).toEqual([expect.objectContaining({ httpStatus: status })])
      return made[0]?.status
    }
    for (const status of [200, 201, 202, 204, 206, 299])
      expect([status, await pressed(status)]).toEqual([status, 'delivered'])
    for (const status of [300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 410, 418, 429, 500, 503]) {
      expect([status, await pressed(status)]).toEqual([status, 'failed'])
    }
    expect(new Set(world.receiver.received.map(({ path }) => path))).toEqual(new Set(['/hook']))
  })

  it('has failed when nobody listens, and when the connection breaks before an answer', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe()
    world.receiver.answer((response) => response.destroy())
    await world.test(id)
    const [broken] = await world.logged(id, ([first]) => expect(first?.status).toBe('failed'))
    expect(broken?.attempts).toEqual([
      expect.objectContaining({ httpStatus: null, error: expect.any(String), responseExcerpt: null }),
    ])
    await world.change(id, { url: 'http://127.0.0.1:9/' })
    await world.test(id)
    const [refused] = await world.logged(id, ([first]) => expect(first?.status).toBe('failed'))
    expect(refused?.attempts[0]?.error).toContain('ECONNREFUSED')
  })

  it('has failed when there is no answer within ten seconds, but not when only its body is late', async () => {
    world = await openWebhookWorld()
    const silent = await world.subscribe({ path: '/silent' })
    const stalling = await world.subscribe({ path: '/stalling' })
    world.receiver.answer((response, { path }) => {
      if (path === '/stalling') response.writeHead(200, { 'content-length': 100 }).write('begun')
    })
    await world.test(silent.id)
    await world.test(stalling.id)
    const [late] = await world.logged(stalling.id, ([first]) => expect(first?.status).toBe('delivered'))
    expect(late?.attempts).toEqual([expect.objectContaining({ httpStatus: 200, responseExcerpt: 'begun' })])
    const [none] = await world.logged(silent.id, ([first]) => expect(first?.status).toBe('failed'))
    expect(none?.attempts).toEqual([
      expect.objectContaining({ httpStatus: null, error: expect.stringContaining('10 seconds') }),
    ])
    expect(none?.attempts[0]?.latencyMs).toBeGreaterThanOrEqual(9_950)
    expect(none?.attempts[0]?.latencyMs).toBeLessThan(14_000)
  })

  it('shows an excerpt of an endless answer in the log, and does not read on', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe()
    const closed = Promise.withResolvers<void>()
    world.receiver.answer((response) => {
      response.on('close', closed.resolve)
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write('a\0é'.repeat(4096)));
      }
      response.on('drain', more)
      more()
    })
    await world.test(id)
    await closed.promise
    const [logged] = await world.logged(id, ([first]) => expect(first?.status).toBe('delivered'))
    const excerpt = logged?.attempts[0]?.responseExcerpt ?? ''
    expect(excerpt.startsWith('a\uFFFDé')).toBe(true)
    expect(Buffer.byteLength(excerpt)).toBeLessThan(4096)
  })

  it('does not show the value of the custom header in the log when the receiver says it back', async () => {
    world = await openWebhookWorld()
    const value = 'Bearer canary-of-the-owner'
    const { id } = await world.subscribe({ header: { name: 'Authorization', value } })
    world.receiver.answer((response, { headers }) =>
      response.writeHead(401).end(`no: ${headers.authorization}${'.'.repeat(980)}${headers.authorization}`),
    )
    await world.test(id)
    const [logged] = await world.logged(id, ([first]) => expect(first?.status).toBe('failed'))
    const excerpt = logged?.attempts[0]?.responseExcerpt ?? ''
    expect(excerpt).toMatch(/^no: \*{26}\.{980}\**$/)
    expect(excerpt).not.toContain('Bearer')
  })

  it('does not make others wait: a silent receiver delays only what is for it', async () => {
    world = await openWebhookWorld()
    await world.subscribe({ path: '/silent', topics: ['application.status_changed'] })
    await world.subscribe({ path: '/quick', topics: ['application.status_changed'] })
    world.receiver.answer((response, { path }) => {
      if (path === '/quick') response.writeHead(200).end()
    })
    await events(world, 40)
    world.dispatch()
    await world.receiver.gets(40, '/quick')
    expect(await world.receiver.gets(1, '/silent')).toHaveLength(1)
  })

  it('a delivery is made at the same time as others, but only so many', async () => {
    world = await openWebhookWorld()
    await world.subscribe({ topics: ['application.status_changed'] })
    let open = 0
    let most = 0
    const waiting: (() => void)[] = []
    world.receiver.answer((response) => {
      open += 1
      most = Math.max(most, open)
      waiting.push(() => {
        open -= 1
        response.writeHead(200).end()
      })
      if (waiting.length === 8) for (const answer of waiting.splice(0)) answer()
    })
    await events(world, 40)
    world.dispatch()
    await world.receiver.gets(40)
    expect(most).toBe(8)
  })
})

describe('the retry ladder', () => {
  it('the retry ladder is 1, 5 and 30 minutes, 2 and 6 hours, with the same bytes and id; the sixth failure is the last', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    world.receiver.answer((response) => void response.writeHead(500).end())
    await oneEvent(world)
    world.dispatch()
    const waits = [1, 5, 30, 120, 360].map((minutes) => minutes * minuteMs)
    for (const [failures, wait] of some(waits.entries())) {
      const log = await world.logged(id, (lines) => expect(lines.at(-1)?.attempts).toHaveLength(failures + 1))
      const logged = log.at(-1)
      expect(logged?.status).toBe('queued')
      expect(logged?.nextAttemptAt).toBe(new Date(world.clock.now() + wait).toISOString())
      if (wait > minuteMs) {
        world.clock.advance(wait - minuteMs)
        await world.test(id)
        await world.logged(id, ([test]) => expect(test?.status).toBe('failed'))
        expect((await world.log(id)).at(-1)?.attempts).toHaveLength(failures + 1)
      }
      world.clock.advance(minuteMs)
    }
    const log = await world.logged(id, (lines) => expect(lines.at(-1)?.attempts).toHaveLength(6))
    expect(log.at(-1)).toMatchObject({ status: 'failed', nextAttemptAt: null })
    const attempts = world.receiver.received.filter(({ event }) => event.type === 'bulk.task.succeeded')
    expect(attempts).toHaveLength(6)
    expect(new Set(attempts.map(({ body }) => body.toString('latin1'))).size).toBe(1)
    expect(new Set(attempts.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    world.clock.advance(dayMs)
    await world.test(id)
    await world.logged(id, ([test]) => expect(test?.status).toBe('failed'))
    expect((await world.log(id)).at(-1)?.attempts).toHaveLength(6)
    expect((await world.sandbox.call<{ enabled: boolean }>('GET', `/sandbox/webhooks/${id}`)).body.enabled).toBe(true)
  })

  it('ends with the first success', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    world.receiver.answer((response) => void response.writeHead(500).end())
    await oneEvent(world)
    world.dispatch()
    await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(1))
    world.receiver.answer((response) => void response.writeHead(200).end())
    world.dispatch()
    const [logged] = await world.logged(id, ([first]) => expect(first?.status).toBe('delivered'))
    expect(logged?.attempts.map(({ httpStatus }) => httpStatus)).toEqual([500, 200])
  })

  it('the retry ladder is not climbed by a test: it is attempted once', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe()
    world.receiver.answer((response) => void response.writeHead(500).end())
    await world.test(id)
    const [logged] = await world.logged(id, ([first]) => expect(first?.attempts).toHaveLength(1))
    expect(logged).toMatchObject({ status: 'failed', nextAttemptAt: null })
  })
})

describe('a sandbox that ends', () => {
  it('delivers after the restart what was queued, and a test that had not been sent', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    await oneEvent(world)
    await world.sandbox.stop()
    world.clock.advance(1)
    await world.sandbox.start()
    await world.receiver.gets(1)
    await world.logged(id, ([first]) => expect(first?.status).toBe('delivered'))
  })

  it('sends again what it had sent and not noted: at least once, under the same id', async () => {
    world = await openWebhookWorld()
    const { id } = await world.subscribe(succeeded)
    const asked = Promise.withResolvers<void>()
    world.receiver.answer(() => asked.resolve())
    await oneEvent(world)
    world.dispatch()
    await asked.promise
    await world.sandbox.stop()
    world.receiver.answer((response) => void response.writeHead(200).end())
    await world.sandbox.start()
    const [first, second] = await world.receiver.gets(2)
    expect(second?.body).toEqual(first?.body)
    const [logged] = await world.logged(id, ([one]) => expect(one?.status).toBe('delivered'))
    expect(logged?.attempts).toHaveLength(1)
  })

  it('stops promptly while receivers are silent', async () => {
    world = await openWebhookWorld()
    await world.subscribe({ topics: ['application.status_changed'] })
    world.receiver.answer(() => undefined)
    await events(world, 20)
    world.dispatch()
    await world.receiver.gets(8)
    expect(await inTime(3_000, world.sandbox.stop())).toBe(true)
    world.receiver.answer((response) => void response.writeHead(200).end())
    await world.sandbox.start()
    await world.receiver.gets(28)
  })

  it('sends again at the next dispatch what could not be noted, because the database failed just then', async () => {
    world = await openWebhookWorld()
    const { pool } = world.sandbox
    const { id } = await world.subscribe(succeeded)
    await oneEvent(world)
    const acceptAgain = await refuseRows(pool, 'sandbox.webhook_attempt')
    world.dispatch()
    await world.receiver.gets(1)
    await acceptAgain()
    await vi.waitFor(async () => {
      world.dispatch()
      expect((await world.log(id))[0]?.status).toBe('delivered')
    }, patience)
    expect(world.receiver.received.length).toBeGreaterThanOrEqual(2)
  })
})
