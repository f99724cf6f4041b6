import fc from 'fast-check'
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { withSession } from '../../../../src/db/database.ts'
import { type DirectRow, landDirectly, RowNeedsCare } from '../../../../src/pipeline/delta/landing/land-directly.ts'
import { landRows } from '../../../../src/pipeline/delta/landing/land-rows.ts'
import { createStage, stagedLine, stageRows } from '../../../../src/pipeline/delta/landing/stage-rows.ts'
import { type JsonbValue, jsonbText } from '../../../../src/pipeline/delta/staged-lines.ts'
import { withShadow } from '../../../../src/pipeline/plan/with-shadow.ts'
import { openLedger } from '../../../db/ledger/ledger.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'

const ledger = await ofThisFile(openLedger())
// Also of the room that deleted rows leave, which new ones may take in any order.
beforeEach(async () => {
  await ledger.clear()
  await sql`truncate source_row cascade`.execute(ledger.db)
})

const basis = 7
type Row = { partnerId: string; rowKey: string; content: Record<string, JsonbValue>; reason: string | null | undefined }

function direct({ partnerId, rowKey, content, reason }: Row): DirectRow {
  return { partnerId, rowKey, text: jsonbText(content), reason }
}

async function landAtOnce(stream: string, batches: Iterable<Row[]> | AsyncIterable<Row[]>) {
  async function* rows() {
    for await (const batch of batches) yield batch.map(direct)
  }
  return await withSession(ledger.pool, ({ client, db }) =>
    db.transaction().execute((trx) => landDirectly(client, trx, { stream, judgedBy: basis }, rows())),
  )
}

async function landStaged(stream: string, rows: Row[]) {
  await withSession(ledger.pool, ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      await createStage(trx)
      await stageRows(
        client,
        rows.map((row, ordinal) => stagedLine({ ...row, ordinal })),
      )
      await landRows(trx, { runId: 0, stream, foldedKey: undefined, judgedBy: basis, guard: async () => false })
    }),
  )
}

async function landed(stream: string) {
  const { rows } = await sql`
    select row.partner_id, row_key, content::text, encode(desired_hash, 'hex') as hash, contradiction, gone_at, guard_run,
           took.partner_id as took_id, encode(wanted_hash, 'hex') as wanted, encode(checked_hash, 'hex') as checked,
           judged_by, invalid_reason, accepted_hash, outcome
    from source_row row join acceptance took using (row_id)
    where stream = ${stream} order by row_key collate "C"`.execute(ledger.db)
  return rows
}

const texts = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll('\0', ''))
const rowsOf = fc
  .uniqueArray(
    fc.record({
      partnerId: texts,
      rowKey: texts,
      content: fc.dictionary(texts, fc.oneof(texts, fc.constant(null), fc.dictionary(texts, texts)), { maxKeys: 6 }),
      reason: fc.constantFrom(null, undefined, 'latitude 91\tis\\not'),
    }),
    { selector: ({ rowKey }) => rowKey, maxLength: 80 },
  )
  .map((rows) => rows as Row[])

test('rows that go straight into the tables stand there as those that are staged', async () => {
  await fc.assert(
    fc
      .asyncProperty(rowsOf, fc.integer({ min: 1, max: 30 }), async (rows, size) => {
        const batches = Array.from({ length: Math.ceil(rows.length / size) }, (_, at) =>
          rows.slice(at * size, (at + 1) * size),
        )
        expect(await landAtOnce('straight', batches)).toBe(rows.length)
        await landStaged('staged', rows)
        expect(await landed('straight')).toEqual(await landed('staged'))
      })
      .beforeEach(() => ledger.clear()),
    { numRuns: 40 },
  )
})

const row = (name: string, text: string): Row => ({
  partnerId: name,
  rowKey: name,
  content: { text },
  reason: null,
})

test('many rows are written in several chunks, with ascending numbers', async () => {
  const batches = Array.from({ length: 40 }, (_, batch) =>
    Array.from({ length: 50 }, (_, at) => row(`${batch} ${at}`, 'x'.repeat(1_000))),
  )
  expect(await landAtOnce('properties', batches)).toBe(2_000)
  const { rows } = await sql<{ ids: number; acceptances: number; ordered: boolean }>`
    select count(*) as ids, count(took.row_id) as acceptances, bool_and(ascends) as ordered
    from (select row_id, row_id > coalesce(lag(row_id) over (order by ctid), 0) as ascends from source_row) numbered
    left join acceptance took using (row_id)`.execute(ledger.db)
  expect(rows).toEqual([{ ids: 2_000, acceptances: 2_000, ordered: true }])
})

test('numbers that are not in a row, because somebody else took some, are given as they were taken', async () => {
  const next = sql<{ id: string }>`select nextval(pg_get_serial_sequence('source_row', 'row_id')) as id`
  const { rows: before } = await next.execute(ledger.db)
  await sql`alter table source_row alter column row_id set increment by 3`.execute(ledger.db)
  try {
    expect(await landAtOnce('properties', [[row('H-1', 'a')], [row('H-2', 'b'), row('H-3', 'c')]])).toBe(3)
  } finally {
    await sql`alter table source_row alter column row_id set increment by 1`.execute(ledger.db)
  }
  const { rows } = await sql<{ ids: number[] }>`
    select array_agg(row_id order by row_key)::integer[] as ids from source_row`.execute(ledger.db)
  const [first = 0] = rows[0]?.ids ?? []
  expect(first).toBeGreaterThan(Number(before[0]?.id))
  expect(rows[0]?.ids).toEqual([first, first + 3, first + 6])
})

test('a batch that is larger than a chunk is written whole', async () => {
  const rows = [row('H-1', 'a'), row('H-2', 'ü'.repeat(3_000_000)), row('H-3', 'c')]
  expect(await landAtOnce('properties', [rows, [row('H-4', 'd')]])).toBe(4)
  const { rows: stored } = await sql<{ row_key: string; length: number; places: boolean }>`
    select row_key, length(content ->> 'text') as length, row_id > coalesce(lag(row_id) over (order by ctid), 0) as places
    from source_row order by row_key`.execute(ledger.db)
  expect(stored).toEqual([
    { row_key: 'H-1', length: 1, places: true },
    { row_key: 'H-2', length: 3_000_000, places: true },
    { row_key: 'H-3', length: 1, places: true },
    { row_key: 'H-4', length: 1, places: true },
  ])
})

test.each([
  ['in one chunk', [[row('H-1', 'a'), row('H-2', 'b'), row('H-1', 'c')]]],
  ['in two', [[row('H-1', 'x'.repeat(600_000))], [row('H-2', 'b')], [row('H-1', 'y'.repeat(600_000))]]],
])('a key that comes twice, %s, leaves nothing, and the transaction goes on', async (_, batches) => {
  const outcome = await withSession(ledger.pool, ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      async function* rows() {
        for (const batch of batches) yield batch.map(direct)
      }
      const why = await landDirectly(client, trx, { stream: 'properties', judgedBy: basis }, rows())
      const { rows: left } = await sql`select from source_row`.execute(trx)
      return { why, left: left.length }
    }),
  )
  expect(outcome).toEqual({ why: 'repeated_key', left: 0 })
})

test('a server that writes content otherwise is noticed, and nothing is left', async () => {
  const wrong = async function* () {
    yield [{ ...direct(row('H-1', 'a')), text: '{"text":"a"}' }]
  }
  const why = await withSession(ledger.pool, ({ client, db }) =>
    db.transaction().execute((trx) => landDirectly(client, trx, { stream: 'properties', judgedBy: basis }, wrong())),
  )
  expect(why).toBe('hash_differs')
  expect(await landed('properties')).toEqual([])
})

test('anyone who hands the rows over can ask for care', async () => {
  const batches = (async function* () {
    yield [row('H-1', 'x'.repeat(600_000))]
    yield [row('H-2', 'b')]
    throw new RowNeedsCare('without_cursor')
  })()
  expect(await landAtOnce('properties', batches)).toBe('without_cursor')
  expect(await landed('properties')).toEqual([])
})

test('what goes wrong while rows are read is told as it is', async () => {
  const batches = (async function* () {
    yield [row('H-1', 'a')]
    throw new Error('the partner hung up')
  })()
  await expect(landAtOnce('properties', batches)).rejects.toThrow('the partner hung up')
  expect(await landed('properties')).toEqual([])
})

test('a plan lands rows in its shadow the same way, and notices a key that comes twice there', async () => {
  const inShadow = (batch: Row[]) =>
    withShadow(ledger.pool, ({ pool }) =>
      withSession(pool, ({ client, db }) =>
        db.transaction().execute(async (trx) => {
          async function* rows() {
            yield batch.map(direct)
          }
          return await landDirectly(client, trx, { stream: 'properties', judgedBy: basis }, rows())
        }),
      ),
    )
  expect(await inShadow([row('H-1', 'a'), row('H-2', 'b')])).toBe(2)
  expect(await inShadow([row('H-1', 'a'), row('H-1', 'b')])).toBe('repeated_key')
  expect(await landed('properties')).toEqual([])
})

test('a key that comes twice in the first of many chunks is told as such, not by what came after it', async () => {
  const many = Array.from({ length: 20_000 }, (_, index) => ({
    partnerId: `H-${index}`,
    rowKey: `key ${index === 50 ? 49 : index}`,
    content: { text: 'x'.repeat(250) },
    reason: null,
  }))
  const batches = Array.from({ length: 40 }, (_, at) => many.slice(at * 500, (at + 1) * 500))
  expect(await landAtOnce('twice early', batches)).toBe('repeated_key')
  expect(await landed('twice early')).toEqual([])
})
