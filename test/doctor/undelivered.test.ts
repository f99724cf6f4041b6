import { afterAll, beforeAll, expect, it } from 'vitest'
import { notificationChecks } from '../../src/doctor/schedule-checks.ts'
import type { Ward } from '../../src/doctor/ward.ts'
import { createMetrics } from '../../src/http/metrics/metrics.ts'
import { ferry, withNews } from '../jobs/news-world.ts'

withNews()

let deps: ReturnType<typeof ferry.deps>
beforeAll(() => {
  deps = ferry.deps('http://127.0.0.1:9')
})
afterAll(() => deps[Symbol.asyncDispose]())

it('a receiver that lacks a message which others took is warned of, while it is tried and once it is given up', async () => {
  const { db } = ferry.ledger
  const error = 'the server of notify.email refused gone@example.com: 550 no such box'
  const told = {
    job: 'push',
    event: 'failed' as const,
    cause: 'failed: x',
    message: '{}',
    told_at: ferry.clock.at,
    error,
  }
  await db
    .insertInto('notification')
    .values({ ...told, next_at: ferry.clock.at })
    .execute()
  const ward = { ledger: () => Promise.resolve({ db }) } as unknown as Ward
  const found = () => notificationChecks.find(({ id }) => id === 'notify_delivered')?.run(ward)
  const warned = [{ level: 'warning', what: expect.stringContaining(error) }]
  expect(await found()).toMatchObject(warned)
  expect(await createMetrics(deps, db, '1.0.0').text()).toContain('nightferry_notifications_pending 1\n')
  await db.updateTable('notification').set({ next_at: null }).execute()
  expect(await found()).toMatchObject(warned)
})
