import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import {
  claimProbe,
  deniedKeyInUse,
  openBreaker,
  pauseCalls,
  reserveCalls,
} from '../../../src/db/service-key/service-key.ts'
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

test.each([
  ['a key that took the place of a refused one', 'key', null],
  ['a key that is refused itself', 'next key', { errorCode: 'key_unknown', serviceMessage: null }],
])(
  'the key in use is the one that called last, although the one before called while the clock was ahead: %s',
  async (_, refused, denied) => {
    await sql`update service_key set used_at = clock_timestamp() + interval '1 year'`.execute(db)
    await reserveCalls(db, 'next key', 1, 50)
    await openBreaker(db, refused, { errorCode: 'key_unknown', serviceMessage: null }, 60_000)
    const found = await deniedKeyInUse(db)
    expect(found === null ? null : { errorCode: found.errorCode, serviceMessage: found.serviceMessage }).toEqual(denied)
  },
)

test('the key in use is still the one that called while the clock was ahead, where there is no other', async () => {
  await sql`update service_key set used_at = clock_timestamp() + interval '1 year'`.execute(db)
  await openBreaker(db, 'key', { errorCode: null, serviceMessage: null }, 60_000)
  expect(await deniedKeyInUse(db)).toMatchObject({ since: expect.any(Date) })
})
