import { afterEach, describe, expect, it, vi } from 'vitest'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { hourMs, openWebhookWorld, type WebhookWorld } from './webhook-world.ts'

let world: WebhookWorld
afterEach(() => world.close())

const dayMs = 24 * hourMs

describe('a rotated secret', () => {
  it('signs beside the old one for a day, and alone after it', async () => {
    world = await openWebhookWorld()
    const webhook = await world.subscribe()
    const rotate = async (): Promise<string> => {
      const path = `/sandbox/webhooks/${webhook.id}/rotate-secret`
      const { body } = await world.sandbox.call<{ secret: string }>('POST', path)
      world.receiver.trust('/hook', body.secret)
      return body.secret
    }
    await rotate()
    const entries = async (count: number) => {
      await world.test(webhook.id)
      return String((await world.receiver.gets(count)).at(-1)?.headers['webhook-signature']).split(' ')
    }
    const both = await entries(1)
    expect(both).toHaveLength(2)
    for (const entry of some(both)) expect(entry).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
    world.clock.advance(dayMs - 1)
    expect(await entries(2)).toHaveLength(2)
    world.clock.advance(1)
    // What takes a delivery just now may still have the time from before.
    let pressed = 2
    await vi.waitFor(async () => {
      pressed += 1
      expect(await entries(pressed)).toHaveLength(1)
    }, patience)
  })

  it('verifies with the old secret alone and with the new one alone while both sign', async () => {
    world = await openWebhookWorld()
    const webhook = await world.subscribe({ path: '/old' })
    const { body } = await world.sandbox.call<{ secret: string }>(
      'POST',
      `/sandbox/webhooks/${webhook.id}/rotate-secret`,
    )
    await world.test(webhook.id)
    await world.receiver.gets(1, '/old')
    await world.change(webhook.id, { url: `${world.receiver.url}/new` })
    world.receiver.trust('/new', body.secret)
    await world.test(webhook.id)
    await world.receiver.gets(1, '/new')
  })

  it('ends the one before the last when it is rotated again', async () => {
    world = await openWebhookWorld()
    const webhook = await world.subscribe({ path: '/first' })
    const path = `/sandbox/webhooks/${webhook.id}/rotate-secret`
    const second = await world.sandbox.call<{ secret: string }>('POST', path)
    await world.sandbox.call('POST', path)
    await world.change(webhook.id, { url: `${world.receiver.url}/second` })
    world.receiver.trust('/second', second.body.secret)
    await world.test(webhook.id)
    const [got] = await world.receiver.gets(1)
    expect(String(got?.headers['webhook-signature']).split(' ')).toHaveLength(2)
  })
})
