import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import type { SourceRow } from '../tables/row-tables.ts'

/** Rows fetched at a time: enough that round trips do not count, few enough that long texts fit into memory. */
const fetchRows = 250

type OutgoingRow = Pick<SourceRow, 'stream' | 'partner_id' | 'content'> & {
  /** Its content is not what was planned. */
  changed: boolean
}

/**
 * The rows that a submission carries, ordered by partner id, in batches through a server-side cursor. The transaction
 * may be used for other statements between two batches, but not for another reading like this one.
 */
export async function* outgoingRows(trx: Transaction<Schema>, submissionId: number): AsyncGenerator<OutgoingRow[]> {
  await sql`
    declare outgoing_rows no scroll cursor for
    select source_row.stream, source_row.partner_id, source_row.content,
           submission_row.sent_hash is distinct from source_row.desired_hash as changed
    from submission_row join source_row using (row_id)
    where submission_row.submission_id = ${submissionId}
    order by source_row.partner_id, source_row.row_id`.execute(trx)
  for (;;) {
    const { rows } = await sql<OutgoingRow>`fetch ${sql.lit(fetchRows)} from outgoing_rows`.execute(trx)
    if (rows.length === 0) break
    yield rows
  }
  // Where reading was broken off, the end of the transaction closes it.
  await sql`close outgoing_rows`.execute(trx)
}
