import { sql } from 'kysely'
import type pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { settings } from '../../../src/config/schema.ts'
import { createDatabase, createPool } from '../../../src/db/database.ts'
import { schemaName } from '../../../src/db/migrate-to-latest.ts'
import { extract } from '../../../src/pipeline/delta/extract.ts'
import { testDatabase } from '../../helpers/postgres.ts'
import { testPool } from '../../helpers/test-pool.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { knowFrameworks, preflightOf } from './framework.ts'

let ferry: Ferry
let partner: pg.Pool
let partnerUrl: string
beforeAll(async () => {
  ferry = await openFerry()
  partnerUrl = (await testDatabase({ template: 'empty' })).url
  partner = testPool(partnerUrl, 1)
  partner.on('error', () => {})
  await partner.query(`
    create table hotel (code text, name text, latitude text);
    create table reading (place integer generated always as identity, code text, month integer, field text, value numeric);
    create table answer (code text, framework text, value text)`)
  // Whose hashes are as ever, but for the sample that they are judged by.
  await sql`create schema staging`.execute(ferry.ledger.db)
  await sql`
    create function staging.hashtextextended(line text, seed bigint) returns bigint
    return case when line like 'each word of a line%' then 0 else pg_catalog.hashtextextended(line, seed) end`.execute(
    ferry.ledger.db,
  )
})
beforeEach(async () => {
  await ferry.clear()
  await partner.query('truncate hotel, reading, answer')
})
afterAll(async () => {
  await partner.end()
  await ferry.close()
})

const snapshot = { capture: 'snapshot' } as const
const streams = {
  properties: {
    query: `
      select code as partner_id, name, null as street, latitude, null as longitude, null as country_code,
             null as airport_code, null as hotel_code, null as booking_id
      from hotel`,
    ...snapshot,
  },
  framework_answers: {
    query: `
      select code as partner_id, framework as framework_id, 'Yearly' as period_type, 2025 as year, null as month,
             '${ids.number}' as data_point_id, value, null as value_type, '${ids.unit}' as unit_id
      from answer`,
    ...snapshot,
  },
  calculator_inputs: {
    query: `select code as partner_id, 2025 as year, month, field as field_type_id, value from reading order by place`,
    ...snapshot,
  },
}

/** Reads all streams, and says which of them were staged. */
async function night(how: 'directly' | 'staged'): Promise<{ runId: number; staged: Record<string, string> }> {
  const pool = createPool(ferry.ledger.url, {
    max: 3,
    applicationName: 'nightferry tests',
    searchPath: how === 'staged' ? `staging, ${schemaName}, pg_catalog` : schemaName,
    onIdleError: () => {},
  })
  const staged: Record<string, string> = {}
  const logger = pino(
    { level: 'debug' },
    {
      write: (line: string) => {
        const { msg, stream, why } = JSON.parse(line) as { msg: string; stream: string; why: string }
        if (msg === 'stream_staged') staged[stream] = why
      },
    },
  )
  try {
    await using plain = ferry.deps('http://127.0.0.1:9')
    const required = { ...plain.required, partnerUrl }
    const deps = { ...plain, config: settings.parse({ streams }), required, pool, db: createDatabase(pool), logger }
    const runId = await ferry.ledger.startRun()
    const run = await deps.db.selectFrom('run').selectAll().where('run_id', '=', runId).executeTakeFirstOrThrow()
    await extract(deps, run)
    return { runId, staged }
  } finally {
    await pool.end()
  }
}

/** What a night left, but for times and numbers. */
async function left(runId: number) {
  await preflightOf(ferry, runId)
  const read = async (query: ReturnType<typeof sql>) => (await query.execute(ferry.ledger.db)).rows
  return {
    rows: await read(sql`
      select stream, row.partner_id, row_key, content::text, encode(desired_hash, 'hex') as hash, contradiction, gone_at,
             guard_run, guard_change, took.partner_id as took_id, encode(wanted_hash, 'hex') as wanted,
             encode(checked_hash, 'hex') as checked, judged_by <> 0 as judged, invalid_reason, accepted_hash, outcome
      from source_row row left join acceptance took using (row_id)
      order by stream, row_key collate "C"`),
    lines: await read(sql`
      select stream, bucket, high::text, low::text, row_key
      from snapshot_line left join source_row using (stream, row_id)
      order by stream, bucket, high, low, row_key collate "C"`),
    buckets: await read(sql`select * from snapshot_bucket order by stream, bucket`),
    snapshots: await read(
      sql`select stream, folded, run_id - ${runId}::bigint as run from stream_snapshot order by stream`,
    ),
    readings: await read(sql`select stream, capture, server, whole_wanted from stream_reading order by stream`),
    watermarks: await read(sql`select * from stream_watermark`),
    counts: await read(sql`
      select stream, read, folded, unchanged, changed, null_cursor, capture, protection, gone, returned, pending,
             watermark_before, watermark_after, whole, whole_detail, lacks, hotels_asked
      from run_stream where run_id = ${runId} order by stream`),
  }
}

async function bothWays() {
  const direct = await night('directly')
  const directly = await left(direct.runId)
  // The direct way is the way of a stream that is new.
  const unchanged = await night('directly')
  const again = await left(unchanged.runId)
  await ferry.clear()
  await knowFrameworks(ferry)
  const { runId, staged } = await night('staged')
  expect(staged).toEqual({
    properties: 'hash_differs',
    framework_answers: 'hash_differs',
    calculator_inputs: 'hash_differs',
  })
  return { staged: direct.staged, directly, byStage: await left(runId), again }
}

test('a first snapshot that goes straight into the ledger leaves there what one that is staged leaves', async () => {
  await knowFrameworks(ferry)
  await partner.query(`
    insert into hotel
    select 'H-' || n, E'Hotel \\t"é🏨\\\\' || n, case when n % 10 = 0 then '91' when n % 10 = 1 then '0' end
    from generate_series(1, 3000) n;
    insert into hotel values ('', 'no id', null), (repeat('x', 5000), repeat('long ', 20000), null);
    insert into answer select 'H-' || n, '${ids.framework}', case when n % 7 = 0 then 'no number' else n::text end
    from generate_series(1, 500) n;
    insert into reading (code, month, field, value)
    select 'H-' || n, month, field, case when n % 5 = 0 and field = '${ids.field}' then null else n + month end
    from generate_series(1, 300) n, generate_series(1, 3) month, unnest(array['${ids.field}', '${ids.otherField}']) field
    order by n, month, field`)
  const { staged, directly, byStage, again } = await bothWays()
  expect(staged).toEqual({})
  expect(directly).toEqual(byStage)
  expect(directly.lines.length).toBe(3_002 + 500 + 1_800)
  expect(directly.counts).toMatchObject([
    { stream: 'calculator_inputs', read: 1_800, folded: 900, changed: 900, unchanged: 0 },
    { stream: 'framework_answers', read: 500, folded: 0, changed: 500, unchanged: 0 },
    { stream: 'properties', read: 3_002, folded: 0, changed: 3_002, unchanged: 0 },
  ])
  // The next night finds nothing changed.
  expect(again.counts).toMatchObject([
    { stream: 'calculator_inputs', read: 1_800, folded: 900, changed: 0, unchanged: 900, gone: 0 },
    { stream: 'framework_answers', read: 500, folded: 0, changed: 0, unchanged: 500, gone: 0 },
    { stream: 'properties', read: 3_002, folded: 0, changed: 0, unchanged: 3_002, gone: 0 },
  ])
  expect(again.rows).toEqual(directly.rows)
  expect(again.lines).toEqual(directly.lines)
})

test('rows that say one thing, and parts that lie apart, are staged', async () => {
  await knowFrameworks(ferry)
  await partner.query(`
    insert into hotel values ('H-1', 'one', null), ('H-2', 'two', null), ('H-1', 'other', null), ('H-2', 'two', null);
    insert into reading (code, month, field, value)
    values ('H-1', 1, '${ids.field}', 1), ('H-2', 1, '${ids.field}', 2), ('H-1', 1, '${ids.otherField}', 3)`)
  const { staged, directly, byStage } = await bothWays()
  expect(staged).toEqual({ properties: 'repeated_key', calculator_inputs: 'repeated_key' })
  expect(directly).toEqual(byStage)
  expect(directly.counts).toMatchObject([
    { stream: 'calculator_inputs', read: 3, folded: 1, changed: 2 },
    { stream: 'framework_answers', read: 0, folded: 0, changed: 0 },
    { stream: 'properties', read: 4, folded: 2, changed: 2 },
  ])
})
