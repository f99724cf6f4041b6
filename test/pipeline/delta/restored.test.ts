import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { approvePlans, plansOf } from '../../../src/db/guard/guard-plan.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { extractNow, openPartner, type Partner } from './partner.ts'

let ferry: Ferry
let partner: Partner
let url: string
beforeAll(async () => {
  ferry = await openFerry()
  partner = await openPartner()
  url = partner.url
  await partner.close()
})
beforeEach(async () => {
  await ferry.clear()
  await run(`truncate hotel;
    insert into hotel (code, name, at) select 'H-' || n, 'before', timestamptz '2026-01-01Z' + n * interval '1 day' from generate_series(1, 6) n`)
})
afterAll(() => ferry.close())

async function run(text: string, at = url): Promise<void> {
  const client = new pg.Client({ connectionString: at })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
const name = () => new URL(url).pathname.slice(1)
/** A copy of the database's files, as a backup of them would be. */
const backUp = () => run(`create database ${name()}_copy template ${name()}`, inject('postgres').adminUrl)
/** The copy takes the place of the database. */
async function restore(): Promise<void> {
  const { adminUrl } = inject('postgres')
  await run(`drop database ${name()} with (force)`, adminUrl)
  await run(`alter database ${name()}_copy rename to ${name()}`, adminUrl)
}
const night = async (guard = {}, properties = {}) => {
  const runId = await extractNow(ferry, { url }, { properties }, {}, undefined, guard)
  return await ferry.ledger.db
    .selectFrom('run_stream')
    .selectAll()
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
}
const ledger = async () =>
  (
    await ferry.ledger.db
      .selectFrom('source_row')
      .select(['partner_id', 'content', 'gone_at'])
      .orderBy('row_id')
      .execute()
  )
    .filter(({ gone_at }) => gone_at === null)
    .map(({ partner_id, content }) => `${partner_id} ${String(content.name)}`)
const before = ['H-1 before', 'H-2 before', 'H-3 before', 'H-4 before', 'H-5 before', 'H-6 before']
const workOfADay = `
  update hotel set name = 'after', at = '2026-02-01Z' where code = 'H-2';
  insert into hotel (code, name, at) values ('H-7', 'after', '2026-02-02Z')`

test('a database that was restored from a copy of its files is read whole, though people have worked on since', async () => {
  await night()
  await backUp()
  await run(workOfADay)
  expect(await night()).toMatchObject({ whole: null, changed: 2 })
  await restore()
  await run(`update hotel set name = 'since', at = '2026-03-01Z' where code = 'H-5'`)
  const found = await night()
  expect(found).toMatchObject({ whole: 'server', read: 6, changed: 2, gone: 1 })
  expect(found.whole_detail).toMatch(/^was \d+\/\d+\/\d+ and is \d+\/\d+\/\d+$/)
  expect(await ledger()).toEqual(before.map((row) => (row === 'H-5 before' ? 'H-5 since' : row)))
  expect(await night()).toMatchObject({ whole: null, changed: 0, gone: 0 })
})

test('a dump that was restored into the same database is noticed by the newest row, and read whole', async () => {
  await night()
  await run('create table dump as table hotel')
  await run(workOfADay)
  await night()
  await run('truncate hotel; insert into hotel table dump; drop table dump')
  expect(await night()).toMatchObject({ whole: 'newest_row', watermark_after: '2026-01-07 00:00:00+00', gone: 1 })
  expect(await ledger()).toEqual(before)
  await run(`update hotel set name = 'since', at = '2026-01-08Z' where code = 'H-1'`)
  expect(await night()).toMatchObject({ whole: null, changed: 1 })
})

test.each(['10000-01-01Z', '12026-05-01Z', 'infinity'])(
  'a newest row whose time lies at %s is no restore, however many digits its year has',
  async (at) => {
    await run(`update hotel set at = '${at}' where code = 'H-1'`)
    await night()
    expect(await night()).toMatchObject({ whole: null, whole_detail: null })
  },
)

test('clocks that are put back between two runs show the newest row ahead of them, which is no restore', async () => {
  await run(`update hotel set local = now() at time zone 'UTC' - interval '10 minutes' - length(name) * interval '1 day'
             where code <> 'H-1';
    update hotel set local = now() at time zone 'UTC' - interval '10 minutes' where code = 'H-1';
    alter database ${name()} set timezone = 'UTC'`)
  const local = { cursor: 'local' }
  await night({}, local)
  await run(`alter database ${name()} set timezone = 'Etc/GMT+1'`)
  expect(await night({}, local)).toMatchObject({ whole: null, whole_detail: null })
  await run(`update hotel set local = local - interval '1 hour' where code = 'H-1'`)
  expect(await night({}, local)).toMatchObject({ whole: 'newest_row' })
  await run(`alter database ${name()} reset timezone`)
})

test('what a restore would change is held by the guard, and read whole again each night until a person decides', async () => {
  await night()
  await backUp()
  await run(`update hotel set name = 'after', at = '2026-02-01Z'`)
  await night({ minRows: 100 })
  await ferry.ledger.pool.query('update acceptance set accepted_hash = wanted_hash')
  await restore()
  const guard = { minRows: 3 }
  for (const _ of [1, 2]) {
    const held = await night(guard)
    expect(held).toMatchObject({ whole: 'server', read: 6 })
    expect(await plansOf(ferry.ledger.db, held.run_id)).toMatchObject([
      { reason: 'share', changed: 6, state: 'waiting' },
    ])
  }
  // Put right at the source: the lost day is typed in again, with any times.
  await run(`update hotel set name = 'after', at = '2025-01-01Z'`)
  const fixed = await night(guard)
  expect(await plansOf(ferry.ledger.db, fixed.run_id)).toEqual([])
  expect(await ledger()).toEqual(before.map((row) => row.replace('before', 'after')))
  expect(await night(guard)).toMatchObject({ whole: null })
})

test('a full comparison that the guard holds over what is gone comes again, and lets rows go that are there again', async () => {
  await night()
  await ferry.ledger.pool.query('update acceptance set accepted_hash = wanted_hash')
  await run(`create table dump as table hotel; delete from hotel where code < 'H-6'`)
  await ferry.ledger.pool.query(`update stream_reading set whole_at = whole_at - interval '7 days'`)
  const guard = { minRows: 3 }
  const held = await night(guard)
  expect(held).toMatchObject({ whole: 'due', gone: 0 })
  expect(await plansOf(ferry.ledger.db, held.run_id)).toMatchObject([{ gone: 5 }])
  await run('truncate hotel; insert into hotel table dump; drop table dump')
  const fixed = await night(guard)
  expect(await plansOf(ferry.ledger.db, fixed.run_id)).toEqual([])
  expect(await ledger()).toEqual(before)
})

test('a source that was approved as empty is read whole when it has rows again, so that all that stood there come back', async () => {
  await night()
  await ferry.ledger.pool.query('update acceptance set accepted_hash = wanted_hash')
  await run('create table dump as table hotel; truncate hotel')
  const held = await night()
  await ferry.ledger.inTransaction((trx) => approvePlans(trx, held.run_id, { user: 'anna', host: 'here' }, new Date()))
  expect(await night()).toMatchObject({ read: 0, watermark_after: null })
  expect(await ledger()).toEqual([])
  await run('insert into hotel table dump; drop table dump')
  expect(await night()).toMatchObject({ whole: 'no_watermark', returned: 6, watermark_after: held.watermark_before })
  expect(await ledger()).toEqual(before)
  expect(await night()).toMatchObject({ whole: null, read: 1, changed: 0 })
})

test('a table of changes that was cleared keeps its watermark, and is read from there', async () => {
  const changes = { fullEvery: 'never' as const }
  await night({}, changes)
  await run('truncate hotel')
  expect(await night({}, changes)).toMatchObject({ whole: 'cleared', read: 0, gone: 0 })
  const { watermark_before, watermark_after } = await night({}, changes)
  expect(watermark_after).toBe(watermark_before)
  expect(watermark_after).not.toBeNull()
})
