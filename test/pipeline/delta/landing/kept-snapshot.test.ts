import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { withSession } from '../../../../src/db/database.ts'
import { keepFirstSnapshot } from '../../../../src/pipeline/delta/landing/kept-snapshot.ts'
import { LineSums } from '../../../../src/pipeline/delta/landing/line-sums.ts'
import { copySnapshot, findDifferences } from '../../../../src/pipeline/delta/landing/snapshot-lines.ts'
import { createStage, stagedLine, stageRows } from '../../../../src/pipeline/delta/landing/stage-rows.ts'
import { type Ledger, openLedger } from '../../../db/ledger/ledger.ts'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger()
  await sql`create schema other`.execute(ledger.db)
  await sql`
    create function other.hashtextextended(line text, seed bigint) returns bigint
    return pg_catalog.hashtextextended(line, seed) # 1`.execute(ledger.db)
})
beforeEach(() => ledger.clear())
afterAll(() => ledger.close())

const lines = Array.from({ length: 300 }, (_, index) => `H-${index}\tvalue ${index}`)
const row = { partnerId: 'H', content: {}, ordinal: 0, reason: null }

/** Keeps a first snapshot of the lines, and compares another with it. */
async function compared(path: string, others: readonly string[], kept: readonly string[] = lines) {
  const runId = await ledger.startRun()
  const pieces = (async function* () {
    for (const line of others) yield Buffer.from(`${line}\n`)
  })()
  return await withSession(ledger.pool, ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      await sql`select set_config('search_path', ${path}, true)`.execute(trx)
      await createStage(trx)
      await stageRows(
        client,
        kept.map((line) => stagedLine({ ...row, rowKey: line, line })),
      )
      await sql`
        insert into source_row (stream, partner_id, row_key, content, desired_hash)
        select 'properties', partner_id, row_key, content, substring(sha256('') for 16) from staged`.execute(trx)
      const sums = new LineSums()
      sums.add(Buffer.from(kept.join('\n')))
      await keepFirstSnapshot(client, trx, 'properties', runId, sums)
      await sql`drop table read_bucket`.execute(trx)
      const read = await copySnapshot(client, trx, 'properties', pieces)
      const { rows } = await sql`
        select bucket, lines, high_sum, low_sum from read_bucket order by bucket`.execute(trx)
      await findDifferences(trx, 'properties', false)
      const { rows: differing } = await sql<{ gone: number; unknown: string[] }>`
        select (select count(*) from vanished_line) as gone,
               array(select line from unknown_line order by 1) as unknown`.execute(trx)
      return { ...read, buckets: rows, ...differing[0] }
    }),
  )
}

const ours = 'nightferry, pg_catalog'
const others = 'other, nightferry, pg_catalog'

test.each([
  ['as we do', ours],
  ['otherwise', others],
])('where the server hashes %s, equal lines are known, and others are found to differ', async (_, path) => {
  expect(await compared(path, lines.toReversed())).toMatchObject({ lines: 300, differs: false })
  await ledger.clear()
  expect(await compared(path, lines.toSpliced(7, 1))).toMatchObject({ lines: 299, differs: true, gone: 1, unknown: [] })
  await ledger.clear()
  const twice = [...lines, 'H-7\tvalue 7']
  expect(await compared(path, twice)).toMatchObject({ lines: 301, differs: true, gone: 0, unknown: [] })
})

test('a server that hashes otherwise has its own sums', async () => {
  const { buckets } = await compared(ours, lines)
  await ledger.clear()
  expect((await compared(others, lines)).buckets).not.toEqual(buckets)
})

test('an empty line is a line, also where it is the only one', async () => {
  expect(await compared(ours, [''], [''])).toMatchObject({ lines: 1, differs: false })
  await ledger.clear()
  expect(await compared(ours, ['', ''], [''])).toMatchObject({ lines: 2, differs: true, gone: 0, unknown: [] })
  await ledger.clear()
  expect(await compared(ours, [''], ['a'])).toMatchObject({ lines: 1, differs: true, gone: 1, unknown: [''] })
})
