import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'

/**
 * Does something with the rows of a submission gathered in the temporary table `carried_row`, which the planner knows:
 * each with the property that it belongs to. Under the submission's lock nobody else changes that.
 *
 * Statistics of `submission_row` are older than the submission: the planner takes its rows for one, and a join that it
 * then nests reads all of them again for each. So they are gathered by their keys, one after the other.
 */
export async function withCarriedRows<T>(
  trx: Transaction<Schema>,
  submissionId: number,
  work: () => Promise<T>,
): Promise<T> {
  await sql`
    create temp table carried_row on commit drop as
    select sent.row_id, sent.sent_hash, took.partner_id
    from submission_row sent join acceptance took using (row_id)
    where sent.submission_id = ${submissionId}`.execute(trx)
  await sql`analyze carried_row (row_id, partner_id)`.execute(trx)
  const done = await work()
  await sql`drop table carried_row`.execute(trx)
  return done
}
