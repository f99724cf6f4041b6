import fc from 'fast-check'
import { sql } from 'kysely'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { testDatabase } from '../../helpers/postgres.ts'
import { testPool } from '../../helpers/test-pool.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { extractNow, type Streams } from './partner.ts'
import { hotelsQuery, readingsQuery, tables } from './partners.ts'

let ferry: Ferry
let partner: pg.Pool
let url: string
beforeAll(async () => {
  ferry = await openFerry()
  url = (await testDatabase({ template: 'empty' })).url
  partner = testPool(url, 1)
  partner.on('error', () => {})
  await partner.query(tables)
})
beforeEach(() => ferry.clear())
afterAll(async () => {
  await partner.end()
  await ferry.close()
})

const streams: Streams = {
  properties: { query: hotelsQuery, capture: 'snapshot' },
  calculator_inputs: { query: readingsQuery, capture: 'snapshot' },
}
/** The lines that the streams' queries yield, as COPY writes them. */
const lines = {
  properties: String.raw`select code || E'\t' || name || repeat(E'\t\\N', 7) as line, code as key from hotel`,
  calculator_inputs: String.raw`
    select concat_ws(E'\t', code, year, month, field, value) as line, code || month as key from reading`,
}

type Hotel = { code: number; name: string }
type Reading = { code: number; month: number; field: string; value: number }
type Night = { hotels: Hotel[]; readings: Reading[] }

async function play({ hotels, readings }: Night): Promise<number> {
  await partner.query('truncate hotel, reading')
  await partner.query(
    `insert into hotel select 'H-' || code, name from json_to_recordset($1) as h(code int, name text)`,
    [JSON.stringify(hotels)],
  )
  await partner.query(
    `insert into reading select 'H-' || code, 2025, month, field, value
     from json_to_recordset($1) as r(code int, month int, field text, value int)`,
    [JSON.stringify(readings)],
  )
  return await extractNow(ferry, { url }, streams, {}, undefined, { minRows: 1_000 })
}

/** What is kept of a stream's snapshot, and what ought to be, were it the first. */
async function kept(stream: keyof typeof lines) {
  const { rows: yielded } = await partner.query<{ line: string; key: string }>(lines[stream])
  const texts = yielded.map(({ line }) => line)
  const { rows } = await sql<Record<string, unknown>>`
    with line as (
      select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low from unnest(${texts}::text[]) line
    ),
    bucket as (
      select (high & 4095)::integer as bucket, count(*) as lines, sum(high) as high_sum, sum(low) as low_sum
      from line group by 1
    ),
    known as (select * from snapshot_line where stream = ${stream})
    select
      (select count(*) from (select high, low from line except select high, low from known) missing) as missing,
      (select count(*) from known) - (select count(*) from (select distinct high, low from line) l) as beyond,
      (select count(*) from known where bucket <> (high & 4095)
         or row_id not in (select row_id from source_row where stream = ${stream} and gone_at is null)) as misplaced,
      (select count(*) from bucket full join (select * from snapshot_bucket where stream = ${stream}) b using (bucket)
       where (bucket.lines, bucket.high_sum, bucket.low_sum) is distinct from (b.lines, b.high_sum, b.low_sum)) as buckets,
      (select folded from stream_snapshot where stream = ${stream}) as folded,
      (select count(*) from source_row where stream = ${stream} and gone_at is null) as living`.execute(ferry.ledger.db)
  const keys = new Set(yielded.map(({ key }) => key)).size
  return {
    found: rows[0],
    expected: { missing: 0, beyond: 0, misplaced: 0, buckets: 0, folded: texts.length - keys, living: keys },
  }
}

/** What stands of the calculators' inputs, and what ought to: what the partner has of each, and nothing else. */
async function inputs() {
  const { rows: yielded } = await partner.query<{ key: string; inputs: object }>(`
    select code || '/' || month as key, jsonb_object_agg(field, value::text) as inputs from reading group by 1 order by 1`)
  const { rows } = await sql<{ key: string; inputs: object }>`
    select partner_id || '/' || (content ->> 'month') as key, jsonb_strip_nulls(content -> 'inputs') as inputs
    from source_row where stream = 'calculator_inputs' and gone_at is null order by 1`.execute(ferry.ledger.db)
  return { found: rows, expected: yielded }
}

/** Calculators of which an input contradicts another, as they stand. */
async function contradicting() {
  const { rows } = await sql<{ key: string }>`
    select partner_id || '/' || (content ->> 'month') as key from ledger
    where stream = 'calculator_inputs' and gone_at is null and contradiction is not null and invalid_reason is not null
    order by 1`.execute(ferry.ledger.db)
  return rows.map(({ key }) => key)
}

/** The same, as it ought to be. */
function twoFold({ readings: all }: Night): string[] {
  const one = new Set(all.map(({ code, month, field, value }) => `${code}/${month}/${field}/${value}`))
  const inputsOf = [...one].map((text) => text.split('/').slice(0, 3).join('/'))
  const twice = inputsOf.filter((input, at) => inputsOf.indexOf(input) !== at)
  return [...new Set(twice.map((input) => `H-${input.split('/').slice(0, 2).join('/')}`))].toSorted()
}

const hotel = fc.record({ code: fc.nat(8), name: fc.constantFrom('one', 'two', 'three') })
const reading = fc.record({
  code: fc.nat(3),
  month: fc.integer({ min: 1, max: 2 }),
  field: fc.constantFrom(ids.field, ids.otherField),
  value: fc.integer({ min: 1, max: 3 }),
})
// Some with a hotel once at most, so that no two lines share a row.
const hotels = fc.oneof(fc.array(hotel, { maxLength: 8 }), fc.uniqueArray(hotel, { selector: ({ code }) => code }))
// Of two values of one input nothing says which is newer.
const readings = fc.uniqueArray(reading, {
  maxLength: 8,
  selector: ({ code, month, field }) => `${code}/${month}/${field}`,
})
const night: fc.Arbitrary<Night> = fc.record({
  hotels,
  readings: fc.oneof(readings, fc.array(reading, { maxLength: 8 })),
})

/** Whether no input has two values. */
function isClear({ readings: all }: Night): boolean {
  return new Set(all.map(({ code, month, field }) => `${code}/${month}/${field}`)).size === all.length
}

test('a calculator that was gone and returns has the inputs that return with it', async () => {
  const both = [ids.field, ids.otherField].map((field) => ({ code: 1, month: 1, field, value: 1 }))
  const other = { code: 2, month: 1, field: ids.field, value: 1 }
  for (const all of [[...both, other], [other], [...both.slice(0, 1), other]]) {
    await play({ hotels: [], readings: all })
    const { found, expected } = await inputs()
    expect(found).toEqual(expected)
  }
})

test('whatever changes from night to night, what is kept of a snapshot is what is there', async () => {
  await fc.assert(
    fc
      .asyncProperty(fc.array(night, { minLength: 2, maxLength: 4 }), async (nights) => {
        for (const one of nights) {
          const runId = await play(one)
          for (const stream of ['properties', 'calculator_inputs'] as const) {
            const { found, expected } = await kept(stream)
            // The guard holds a source that is empty, and sets no tombstone then.
            const { rows } = await sql<{ held: boolean }>`
              select exists (select from guard_plan where run_id = ${runId} and stream = ${stream}) as held`.execute(
              ferry.ledger.db,
            )
            expect(found).toEqual(rows[0]?.held ? { ...expected, living: found?.living } : expected)
          }
          const { found, expected } = await inputs()
          if (one.readings.length > 0) expect(await contradicting()).toEqual(twoFold(one))
          if (isClear(one) && one.readings.length > 0) expect(found).toEqual(expected)
        }
      })
      .beforeEach(() => ferry.clear()),
    { numRuns: 40 },
  )
})
