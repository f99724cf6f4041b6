import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'

/**
 * Does something with the rows of a submission gathered in the temporary table `carried_row`, which the planner knows:
 * each with the property that it belongs to, and whether the submission holds it. Under the submission's lock nobody else
 * changes that.
 *
 * Statistics of `submission_row` are older than the submission: the planner takes its rows for one, and a join that it
 * then nests reads all of them again for each. The rows gathered here are joined by the whole of a key, never beside a
 * condition on the submission alone: such a condition would be a way to read the other side too.
 */
export async function withCarriedRows<T>(
  trx: Transaction<Schema>,
  submissionId: number,
  work: () => Promise<T>,
): Promise<T> {
  await sql`
    create temp table carried_row on commit drop as
    select sent.submission_id, sent.row_id, sent.sent_hash, row.partner_id,
           exists (
             select from held_row
             where held_row.row_id = sent.row_id and held_row.submission_id = sent.submission_id) as held
    from submission_row sent join source_row row using (row_id)
    where sent.submission_id = ${submissionId}`.execute(trx)
  await sql`analyze carried_row (submission_id, row_id, partner_id)`.execute(trx)
  const done = await work()
  await sql`drop table carried_row`.execute(trx)
  return done
}
