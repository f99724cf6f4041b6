import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Config } from '../../src/config/schema.ts'
import type { NotificationEvent } from '../../src/db/tables/run-tables.ts'
import { notificationChecks } from '../../src/doctor/schedule-checks.ts'
import type { Ward } from '../../src/doctor/ward.ts'
import { createMetrics } from '../../src/http/metrics/metrics.ts'
import { ferry, withNews } from '../jobs/news-world.ts'

withNews()

let deps: ReturnType<typeof ferry.deps>
let notify: Config['notify']
beforeAll(() => {
  deps = ferry.deps('http://127.0.0.1:9')
})
beforeEach(() => {
  notify = deps.config.notify
  mailTo('gone@example.com', 'anna@example.com')
})
afterAll(() => deps[Symbol.asyncDispose]())

const refusal = (address: string) => `the server of notify.email refused ${address}: 550 no such box`

function mailTo(...to: string[]): void {
  notify = { ...notify, email: { ...notify.email, host: 'mail.example.com', from: 'ferry@example.com', to } }
}

type Told = {
  error?: string | null
  next_at?: Date | null
  taken_by?: string[]
  created_at?: Date
  event?: NotificationEvent
}

/** A message that was given up, unless it says otherwise. */
async function told({ error = null, next_at = null, taken_by = [], created_at, event = 'failed' }: Told) {
  const values = { job: 'push', event, cause: 'failed: x', message: '{}', told_at: ferry.clock.at, error, next_at }
  await ferry.ledger.db
    .insertInto('notification')
    .values({ ...values, taken_by, created_at: created_at ?? ferry.clock.at })
    .execute()
}

async function levels(): Promise<string[]> {
  return (await found()).map(({ level }) => level)
}

async function found() {
  const { db } = ferry.ledger
  const config = { ...deps.config, notify }
  const ward = {
    now: () => ferry.clock.at,
    config: () => Promise.resolve(config),
    ledger: () => Promise.resolve({ db }),
  } as unknown as Ward
  return (await notificationChecks.find(({ id }) => id === 'notify_delivered')?.run(ward)) ?? []
}

it('a receiver that lacks a message which others took is warned of, while it is tried and once it is given up', async () => {
  const error = refusal('gone@example.com')
  await told({ error, next_at: ferry.clock.at, taken_by: ['notify.email anna@example.com'] })
  const warned = [{ level: 'warning', what: expect.stringContaining(error) }]
  expect(await found()).toMatchObject(warned)
  expect(await createMetrics(deps, ferry.ledger.db, '1.0.0').text()).toContain('nightferry_notifications_pending 1\n')
  await ferry.ledger.db.updateTable('notification').set({ next_at: null }).execute()
  expect(await found()).toMatchObject(warned)
})

describe('a message that was given up is warned of no longer', () => {
  beforeEach(() => told({ error: refusal('gone@example.com'), taken_by: ['notify.email anna@example.com'] }))

  it('once its receiver took a newer one, which another may lack', async () => {
    await told({ taken_by: ['notify.email anna@example.com'] })
    expect(await levels()).toEqual(['warning'])
    await told({ taken_by: ['notify.email gone@example.com', 'notify.email anna@example.com'] })
    expect(await found()).toEqual([
      { level: 'ok', what: 'No receiver lacks its newest message of the last 7 days', todo: null },
    ])
  })

  it('once its receiver is taken out of the configuration, or another put in its place', async () => {
    mailTo('anna@example.com')
    expect(await levels()).toEqual(['ok'])
    mailTo('anna@example.com', 'bert@example.com')
    expect(await levels()).toEqual(['ok'])
  })

  it('after a week, in which nothing newer was told', async () => {
    ferry.clock.pass(6 * 86_400_000)
    expect(await levels()).toEqual(['warning'])
    ferry.clock.pass(2 * 86_400_000)
    expect(await levels()).toEqual(['ok'])
  })
})

it.each([
  ['the server of notify.email did not take it: ECONNECTION', 'warning'],
  ['the receiver of notify.url answered 500', 'ok'],
  ['it was not sent in time', 'warning'],
])(
  'a message that nobody took, because of "%s", is judged by the addresses of notify.email: %s',
  async (error, level) => {
    await told({ error })
    expect(await levels()).toEqual([level])
  },
)

it('a heartbeat that was given up is no message that people lack', async () => {
  await told({ error: 'the receiver of notify.heartbeatUrl answered 500', event: 'heartbeat' })
  expect(await levels()).toEqual(['ok'])
  notify = { ...notify, heartbeatUrl: 'https://monitor.example/ping' }
  expect(await levels()).toEqual(['warning'])
  await told({ event: 'heartbeat', taken_by: ['notify.heartbeatUrl'] })
  expect(await levels()).toEqual(['ok'])
})
