import { afterEach, describe, expect, it, vi } from 'vitest'
import { patience } from '../helpers/patience.ts'
import { mapHotels } from './bodies.ts'
import { shows, struckLines } from './chaos-world.ts'
import { manualClock } from './manual-clock.ts'
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
    }, patience)
    const struck = (await struckLines(sandbox)).filter(({ correlationId }) => correlationId === id)
    expect(struck.map(({ phase, chaos }) => [phase, chaos])).toEqual([['chaos', ['pending-repeated']]])
  })

  it('enters Pending again also when it is queued while others are looked at', async () => {
    // Both are Pending since the same moment.
    sandbox = await openSandbox({ chaos: new Map([['pending-repeated', 1]]), clock: manualClock() })
    // A look at the first task that lasts until the second one is there.
    await sandbox.pool.query(
      `create function linger() returns trigger language plpgsql as $$
       begin
         if new.chaos is not null then
           for tries in 1 .. 500 loop
             exit when (select count(*) from sandbox.task) > 1;
             perform pg_sleep(0.01);
           end loop;
         end if;
         return new;
       end $$;
       create trigger linger before insert on sandbox.request_log for each row execute function linger()`,
    )
    const ids = []
    for (const number of [1, 2]) ids.push(await sandbox.submit('companyMappings', mapHotels(number)))
    for (const id of ids) await sandbox.finished(id)
    const struck = await struckLines(sandbox)
    expect(struck.map(({ correlationId }) => correlationId)).toEqual(ids)
  })
})
