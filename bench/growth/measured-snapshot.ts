import type { Transaction } from 'kysely'
import type pg from 'pg'
import { withSession } from '../../src/db/database.ts'
import type { Schema } from '../../src/db/tables/database-schema.ts'
import { keepFirstSnapshot, keepSnapshot } from '../../src/pipeline/delta/landing/kept-snapshot.ts'
import { landRows } from '../../src/pipeline/delta/landing/land-rows.ts'
import { LineSums } from '../../src/pipeline/delta/landing/line-sums.ts'
import {
  copySnapshot,
  findDifferences,
  findMissing,
  gainedLines,
  neededLines,
} from '../../src/pipeline/delta/landing/snapshot-lines.ts'
import { createStage, stagedLine, stageRows } from '../../src/pipeline/delta/landing/stage-rows.ts'

const stream = 'custom_property_values'
/** As extraction does it. */
const linesAtOnce = 500

/**
 * A stream read by snapshot, twice: all of it, then with one row in ten changed and one in ten gone. Its lines are of
 * two columns, the key and a value.
 */
export async function snapshotTwice(pool: pg.Pool, rows: number): Promise<void> {
  const first = Array.from({ length: rows }, (_, row) => lineOf(row, 0))
  const second = first.flatMap((line, row) => (row % 10 === 1 ? [] : [row % 10 === 0 ? lineOf(row, 1) : line]))
  await inSession(pool, async (trx, client) => {
    await createStage(trx)
    await stageRows(
      client,
      first.map((line) => stagedOf(line, { line })),
    )
    await findMissing(trx, stream, true)
    await land(trx)
    const sums = new LineSums()
    sums.add(Buffer.from(first.join('\n')))
    await keepFirstSnapshot(client, trx, stream, 1, sums)
  })
  await inSession(pool, async (trx, client) => {
    await createStage(trx)
    await copySnapshot(client, trx, stream, piecesOf(second))
    await findDifferences(trx, stream)
    for (const needed of [neededLines(trx, linesAtOnce), gainedLines(trx, stream, linesAtOnce)]) {
      for await (const batch of needed) {
        await stageRows(
          client,
          batch.map(({ line, high, low }) => stagedOf(line, { hash: { high, low } })),
        )
      }
    }
    await findMissing(trx, stream, false)
    await land(trx)
    await keepSnapshot(trx, stream, 1)
  })
}

const lineOf = (row: number, version: number) => `H-${String(row).padStart(7, '0')}\tvalue ${version}`

async function* piecesOf(lines: readonly string[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(`${line}\n`)
}

function stagedOf(line: string, origin: { line: string } | { hash: { high: string; low: string } }): string {
  const [partnerId = '', value = ''] = line.split('\t')
  return stagedLine({ partnerId, rowKey: partnerId, content: { value }, ordinal: 0, reason: null, ...origin })
}

async function land(trx: Transaction<Schema>): Promise<void> {
  const landing = { runId: 0, stream, foldedKey: undefined, judgedBy: 1, missing: true }
  await landRows(trx, { ...landing, guard: async () => false })
}

async function inSession(
  pool: pg.Pool,
  work: (trx: Transaction<Schema>, client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  await withSession(pool, ({ client, db }) => db.transaction().execute((trx) => work(trx, client)))
}
