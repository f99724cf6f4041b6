import type { Pool } from 'pg'
import { expect, vi } from 'vitest'
import { createChaos } from '../../src/sandbox/chaos/chaos.ts'
import type { SandboxOptions } from '../../src/sandbox/start-sandbox.ts'
import type { LoggedDelivery } from '../../src/sandbox/webhooks/delivery-log.ts'
import { recordApplicationEvent } from '../../src/sandbox/webhooks/record-event.ts'
import type { Webhook } from '../../src/sandbox/webhooks/webhook-store.ts'
import { mapHotels } from './bodies.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { contract, type OpenSandbox, openSandbox } from './open-sandbox.ts'
import { openReceiver, type Receiver } from './webhook-receiver.ts'

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs

const { test, ...subscribable } = contract.webhookTopics
export const testTopic = test
export const allTopics: readonly string[] = Object.values(subscribable)

export type WebhookWorld = {
  sandbox: OpenSandbox
  receiver: Receiver
  clock: ManualClock
  /** Creates a webhook of its own path at the receiver, which learns its secret. */
  subscribe(settings?: {
    path?: string
    topics?: readonly string[]
    key?: string
    header?: { name: string; value: string }
    enabled?: boolean
  }): Promise<Webhook & { secret: string }>
  change(id: string, changes: object, key?: string): Promise<Webhook>
  log(id: string, key?: string): Promise<LoggedDelivery[]>
  /** The log, once `holds` accepts it. */
  logged(id: string, holds: (log: LoggedDelivery[]) => void, key?: string): Promise<LoggedDelivery[]>
  /** Presses the Test button. */
  test(id: string): Promise<{ deliveryId: string; eventId: string }>
  resend(id: string, deliveryId: string): Promise<number>
  /** Lets the next dispatch come. */
  dispatch(): void
  /** Closes everything, and fails when a delivery was not verified. */
  close(): Promise<void>
}

/** A sandbox whose clock stands still, and a receiver on loopback. */
export async function openWebhookWorld(options: Partial<SandboxOptions> = {}): Promise<WebhookWorld> {
  const clock = manualClock()
  const sandbox = await openSandbox({ clock, allowInsecureWebhooks: true, ...options })
  const receiver = await openReceiver()
  const must = async <T>(status: number, answer: Promise<{ status: number; body: unknown }>): Promise<T> => {
    const { status: got, body } = await answer
    if (got !== status) throw new Error(`answered ${got}: ${JSON.stringify(body)}`)
    return body as T
  }
  const world: WebhookWorld = {
    sandbox,
    receiver,
    clock,
    subscribe: async ({ path = '/hook', topics = allTopics, key = 'demo-key', ...rest } = {}) => {
      const body = { url: `${receiver.url}${path}`, topics, ...rest }
      const created = await must<Webhook & { secret: string }>(
        201,
        sandbox.call('POST', '/sandbox/webhooks', { key, body }),
      )
      receiver.trust(path, created.secret)
      return created
    },
    change: (id, changes, key = 'demo-key') =>
      must(200, sandbox.call('PATCH', `/sandbox/webhooks/${id}`, { key, body: changes })),
    log: (id, key = 'demo-key') => must(200, sandbox.call('GET', `/sandbox/webhooks/${id}/deliveries`, { key })),
    logged: (id, holds, key) =>
      vi.waitFor(
        async () => {
          const log = await world.log(id, key)
          holds(log)
          return log
        },
        { timeout: 60_000, interval: 10 },
      ),
    test: (id) => must(202, sandbox.call('POST', `/sandbox/webhooks/${id}/test`)),
    resend: async (id, deliveryId) =>
      (await sandbox.call('POST', `/sandbox/webhooks/${id}/deliveries/${deliveryId}/resend`)).status,
    dispatch: () => clock.advance(minuteMs),
    close: async () => {
      await sandbox.close()
      await receiver.close()
      expect(receiver.unverified).toEqual([])
    },
  }
  return world
}

/** Has the database refuse rows of a table, until the returned function is called: it waits for a row to be refused. */
export async function refuseRows(pool: Pool, table: string): Promise<() => Promise<void>> {
  // What a sequence counts stays when the transaction that counted is undone.
  await pool.query(
    `create sequence refusals;
     create function refuse() returns trigger language plpgsql as $$
       begin perform nextval('refusals'); raise 'refused'; end $$;
     create trigger refuse before insert on ${table} execute function refuse()`,
  )
  return async () => {
    const refused = async () => (await pool.query<{ is_called: boolean }>('select is_called from refusals')).rows
    await vi.waitFor(async () => expect(await refused()).toEqual([{ is_called: true }]), { timeout: 60_000 })
    await pool.query(`drop trigger refuse on ${table}`)
  }
}

/** The log's deliveries in the order in which they were recorded. */
export function oldestFirst(log: readonly LoggedDelivery[]): LoggedDelivery[] {
  return log.toReversed()
}

/** One event, from a mapping request that succeeds. */
export async function oneEvent(world: WebhookWorld): Promise<void> {
  await world.sandbox.run('companyMappings', mapHotels(1))
}

/** `count` events, each about an application of its own of the demo profile. */
export async function events(world: WebhookWorld, count: number): Promise<void> {
  const recorder = { contract, clock: world.clock, chaos: createChaos(1) }
  for (let i = 1; i <= count; i += 1) {
    const applicationId = `a0000000-0000-4000-8000-${String(i).padStart(12, '0')}`
    await recordApplicationEvent(world.sandbox.pool, recorder, {
      applicationId,
      profileId: 4711,
      change: 'status',
      status: 'x',
    })
  }
}
