import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { BatchSize } from '../tables/planning.ts'
import type { Schema } from '../tables/schema.ts'

/** Rows per request of a kind, as learned so far by all who share the database; undefined: nothing was learned yet. */
export async function learnedRows(db: Database, kind: string): Promise<number | undefined> {
  const learned = await db.selectFrom('batch_size').select('rows').where('kind', '=', kind).executeTakeFirst()
  return learned?.rows
}

/** Rows of the smallest request of a kind that the service found too large in a run; null: it found none so. */
export async function fewestTooLarge(db: Database, runId: number, kind: string): Promise<number | null> {
  const { rows } = await sql<{ fewest: number | null }>`
    select min(row_count) as fewest from submission where run_id = ${runId} and kind = ${kind} and too_large`.execute(
    db,
  )
  return rows[0]?.fewest ?? null
}

/** The learned size of every kind, with what taught it last. */
export async function batchSizes(db: Database): Promise<BatchSize[]> {
  return await db.selectFrom('batch_size').selectAll().orderBy('kind').execute()
}

/**
 * Learns from one request: `decide` is given the size in force, which stays locked until the transaction ends, so that
 * requests which end side by side count one after the other.
 * @returns the size before and after.
 */
export async function learnRows(
  trx: Transaction<Schema>,
  evidence: Omit<BatchSize, 'rows' | 'rows_before'>,
  firstRows: number,
  decide: (rows: number) => number,
): Promise<{ before: number; after: number }> {
  await trx
    .insertInto('batch_size')
    .values({ ...evidence, rows: firstRows, rows_before: firstRows })
    .onConflict((conflict) => conflict.column('kind').doNothing())
    .execute()
  const { rows: before } = await trx
    .selectFrom('batch_size')
    .select('rows')
    .where('kind', '=', evidence.kind)
    .forUpdate()
    .executeTakeFirstOrThrow()
  const after = decide(before)
  // What has moved a size says why it is what it is, until something else moves it; a small request says nothing.
  const confirms = evidence.request_rows * 2 > before
  await trx
    .updateTable('batch_size')
    .set({ ...evidence, rows: after, rows_before: before })
    .where('kind', '=', evidence.kind)
    .where(sql<boolean>`(${before !== after} or (${confirms} and rows_before = rows))`)
    .execute()
  return { before, after }
}
