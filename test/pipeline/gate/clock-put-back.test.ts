import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { claimProbe, openBreaker, pauseCalls, reserveCalls } from '../../../src/db/service-key/service-key.ts'
import { testDatabase } from '../../helpers/postgres.ts'
import { databaseOf } from './gated.ts'

let db: Database
beforeEach(async () => {
  db = databaseOf((await testDatabase()).url)
  await reserveCalls(db, 'key', 1, 50)
})
/** What the row says after the database's clock was put back by three hours. */
const putBack = () =>
  sql`update service_key set next_call_at = next_call_at + interval '3 hours',
        paused_until = paused_until + interval '3 hours', probe_at = probe_at + interval '3 hours'`.execute(db)

test('a clock that is put back stops no call for as long as it was put back', async () => {
  await pauseCalls(db, 'key', 2_000)
  await putBack()
  expect(await reserveCalls(db, 'key', 1, 50)).toBeLessThan(1_000)
  await pauseCalls(db, 'key', 2_000)
  const inMs = (await reserveCalls(db, 'key', 1, 50)) ?? 0
  expect(inMs).toBeGreaterThan(1_000)
  expect(inMs).toBeLessThan(3_000)
})

test('a key that was denied before the clock was put back is asked about again', async () => {
  await openBreaker(db, 'key', { errorCode: null, serviceMessage: null }, 60_000)
  expect(await claimProbe(db, 'key', 60_000, false)).toBe(false)
  await putBack()
  expect(await claimProbe(db, 'key', 60_000, false)).toBe(true)
  expect(await claimProbe(db, 'key', 60_000, false)).toBe(false)
})
