import { afterEach, describe, expect, vi } from 'vitest'
import { mapHotels } from './bodies.ts'
import { shows, struckLines } from './chaos-world.ts'
import { type OpenSandbox, openSandbox } from './open-sandbox.ts'

let sandbox: OpenSandbox
afterEach(() => sandbox.close())

type Created = { id: string }
type Delivery = { type: string; payload: { data: { correlationId: string; status: string } } }

describe('a task that waits', () => {
  shows('pending-repeated', 'enters Pending again, which fires, and goes on as it would have', async () => {
    sandbox = await openSandbox({ chaos: new Map([['pending-repeated', 1]]), allowInsecureWebhooks: true })
    const topics = ['bulk.task.pending', 'bulk.task.scheduled', 'bulk.task.succeeded']
    const { body: webhook } = await sandbox.call<Created>('POST', '/sandbox/webhooks', {
      body: { url: 'http://127.0.0.1:9/none', topics },
    })
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    expect((await sandbox.finished(id)).status).toBe('Success')
    await vi.waitFor(async () => {
      const { body } = await sandbox.call<Delivery[]>('GET', `/sandbox/webhooks/${webhook.id}/deliveries`)
      expect(body.toReversed().map(({ type, payload }) => [type, payload.data.status])).toEqual([
        ['bulk.task.pending', 'Pending'],
        ['bulk.task.scheduled', 'Scheduled'],
        ['bulk.task.succeeded', 'Success'],
      ])
    })
    const struck = (await struckLines(sandbox)).filter(({ correlationId }) => correlationId === id)
    expect(struck.map(({ phase, chaos }) => [phase, chaos])).toEqual([['chaos', ['pending-repeated']]])
  })
})
