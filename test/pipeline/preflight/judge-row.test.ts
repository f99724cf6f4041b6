import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { preflight } from '../../../src/pipeline/preflight/preflight.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { extractNow, openPartner, type Streams } from '../delta/partner.ts'
import { openFerry } from '../push/ferry.ts'

const properties = (latitude: string) => `
  select code as partner_id, name, null as street, ${latitude} as latitude, 12 as longitude, null as country_code,
         null as airport_code, null as hotel_code, null as booking_id, at from hotel`
const inputs = `
  select code as partner_id, 2025 as year, 13 as month, '00000000-0000-4000-8000-00000000000a' as field_type_id, name as value, at
  from hotel`

const ferry = await ofThisFile(openFerry())
const partner = await ofThisFile(openPartner())
beforeEach(async () => {
  await ferry.clear()
  await partner.pool.query('truncate hotel')
  await partner.pool.query(
    `insert into hotel (code, name, at) values ('H-1', 'Harbour', '2026-01-01'), ('H-2', 'Park', '2026-01-01')`,
  )
})

async function runPreflight(runId: number): Promise<void> {
  await using deps = ferry.deps('http://127.0.0.1:9')
  const run = await deps.db.selectFrom('run').selectAll().where('run_id', '=', runId).executeTakeFirstOrThrow()
  await preflight(deps, run)
}
/** A night whose rows are all accepted. @returns whom it warns of, as each night before has. */
async function acceptedNight(streams: Streams): Promise<unknown[]> {
  await runPreflight(await extractNow(ferry, partner, streams))
  const { db } = ferry.ledger
  await sql`update acceptance set accepted_hash = wanted_hash, accepted_at = clock_timestamp()`.execute(db)
  const { rows } = await sql<{ row_key: string }>`
    select row_key from row_warnings where warning = 'partner_ids_alike' order by 1`.execute(db)
  return rows.map(({ row_key }) => row_key)
}
const judged = async () =>
  (
    await sql<{ judged: boolean; reason: string | null; version: string }>`
      select took.checked_hash is not distinct from desired_hash as judged, invalid_reason as reason,
             concat_ws(' ', row.xmin, row.ctid, took.xmin, took.ctid) as version
      from source_row row join acceptance took using (row_id) order by stream, row.partner_id`.execute(ferry.ledger.db)
  ).rows

describe.each(['cursor', 'snapshot'] as const)('rows read by %s', (capture) => {
  const read = (query: string, stream = 'properties'): Streams => ({ [stream]: { query, capture } })

  it('rows that were read are judged when they land, and preflight writes none of them again', async () => {
    const run = await extractNow(ferry, partner, read(properties(`case code when 'H-1' then 91 else 55 end`)))
    const landed = await judged()
    expect(landed.map(({ judged, reason }) => [judged, reason])).toEqual([
      [true, 'latitude 91 is not between -90 and 90'],
      [true, null],
    ])
    await runPreflight(run)
    expect(await judged()).toEqual(landed)
  })

  it('rows that were read are judged when they change, by what they say now', async () => {
    await extractNow(ferry, partner, read(properties('91')))
    const run = await extractNow(ferry, partner, read(properties('55')))
    const landed = await judged()
    expect(landed.map(({ judged, reason }) => [judged, reason])).toEqual([
      [true, null],
      [true, null],
    ])
    await runPreflight(run)
    expect(await judged()).toEqual(landed)
  })

  it('rows that were read are judged by preflight where the ledger folds them, for only then their content is whole', async () => {
    // The first rows of a stream are merged on their way, so nothing is left to fold.
    await extractNow(ferry, partner, read(inputs, 'calculator_inputs'))
    expect((await judged()).map(({ judged }) => judged)).toEqual([true, true])
    const changed = inputs.replace('name as value', 'lower(name) as value')
    expect(changed).not.toBe(inputs)
    const run = await extractNow(ferry, partner, read(changed, 'calculator_inputs'))
    expect((await judged()).map(({ judged }) => judged)).toEqual([false, false])
    await runPreflight(run)
    expect((await judged()).map(({ judged, reason }) => [judged, reason])).toEqual([
      [true, expect.stringContaining('13')],
      [true, expect.stringContaining('13')],
    ])
  })

  it('lose the warning that they no longer deserve', async () => {
    const island = (at: string) => read(properties(at).replace('12 as longitude', '0 as longitude'))
    const warnings = async () => (await sql`select warning from row_warnings`.execute(ferry.ledger.db)).rows
    await runPreflight(await extractNow(ferry, partner, island('0')))
    expect(await warnings()).toEqual([{ warning: 'coordinates_zero' }, { warning: 'coordinates_zero' }])
    await runPreflight(await extractNow(ferry, partner, island('55')))
    expect(await warnings()).toEqual([])
  })

  it('rows that were read are no new hotels because they change', async () => {
    await acceptedNight(read(properties('1')))
    await partner.pool.query(`insert into hotel (code, name, at) values ('h-1', 'Harbour', '2026-01-02')`)
    expect(await acceptedNight(read(properties('1')))).toEqual(['h-1'])
    expect(await acceptedNight(read(properties('2')))).toEqual(['h-1'])
  })

  it('rows that were read are judged again in a later run, whose reference data may be others', async () => {
    await extractNow(ferry, partner, read(properties('91')))
    const later = await extractNow(ferry, partner, read(properties('91')))
    await ferry.ledger.db.updateTable('acceptance').set({ invalid_reason: 'of yesterday' }).execute()
    await sql`
      insert into reference_version (version, fetched_at, confirmed_at, documents, changes)
      select coalesce(max(version), 0) + 1, now(), now(), 0, 0 from reference_version`.execute(ferry.ledger.db)
    await runPreflight(later)
    expect((await judged()).map(({ reason }) => reason)).toEqual(
      Array.from({ length: 2 }, () => 'latitude 91 is not between -90 and 90'),
    )
  })
})

it('a hotel that was gone and is there again is named where another has come whose partner id is alike', async () => {
  const read: Streams = { properties: { query: properties('1'), capture: 'snapshot' } }
  await acceptedNight(read)
  await partner.pool.query(`update hotel set code = 'h-1' where code = 'H-1'`)
  expect(await acceptedNight(read)).toEqual([])
  await partner.pool.query(`insert into hotel (code, name, at) values ('H-1', 'Harbour', '2026-01-02')`)
  expect(await acceptedNight(read)).toEqual(['H-1'])
})
