import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { BatchSize } from '../tables/submission-tables.ts'

/** Rows per request of a kind, as learned so far by all who share the database; undefined: nothing was learned yet. */
export async function learnedRows(db: Database, kind: string): Promise<number | undefined> {
  const learned = await db.selectFrom('batch_size').select('rows').where('kind', '=', kind).executeTakeFirst()
  return learned?.rows
}

/** Rows of the smallest request of a kind that the service found too large in a run; null: it found none so. */
export async function fewestTooLarge(db: Database, runId: number, kind: string): Promise<number | null> {
  const { rows } = await sql<{ fewest: number | null }>`
    select min(row_count) as fewest from submission
    where run_id = ${runId} and kind = ${kind} and too_large and too_large_row is null`.execute(db)
  return rows[0]?.fewest ?? null
}

/**
 * A request of one row was too large: it is that row, and not their size, for which the requests were refused that
 * carried it before in the same run. Theirs say nothing more of the size, and their other rows go out again.
 */
export async function blameRow(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    update submission earlier set too_large_row = alone.row_id
    from submission_row alone
    join submission refused on refused.submission_id = alone.submission_id
    join submission_row carried on carried.row_id = alone.row_id
    where alone.submission_id = ${submissionId}
      and earlier.submission_id = carried.submission_id and earlier.run_id = refused.run_id
      and earlier.too_large and earlier.submission_id <> ${submissionId}`.execute(trx)
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
