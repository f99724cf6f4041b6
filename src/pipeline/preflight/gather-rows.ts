import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'

export type Fragment = ReturnType<typeof sql>

/** What a row of a hotel is about, by an id that is one in capitals and in small letters. */
export const target = (row: Fragment) => sql`
  lower(coalesce(${row}.content ->> 'data_point_id', ${row}.content ->> 'question_id',
                 ${row}.content ->> 'property_id', ${row}.content ->> 'standard_id'))`

/**
 * Rows that the ledger has of some hotels in some streams, which the table `sought` names: the table `rows`. Its pairs
 * are joined by the whole of an index, so that a planner who knows nothing of the ledger goes by hotel, or over all
 * rows once. From then on all joins are between tables that it knows.
 */
export async function gather(
  trx: Transaction<Schema>,
  rows: string,
  sought: Fragment,
  columns: Fragment,
): Promise<void> {
  await sql`create temp table sought on commit drop as ${sought}`.execute(trx)
  await sql`analyze sought`.execute(trx)
  await sql`
    create temp table ${sql.id(rows)} on commit drop as
    select row.row_id, row.partner_id, row.stream, ${columns}
    from sought join source_row row using (partner_id, stream)
    where row.gone_at is null`.execute(trx)
  await sql`analyze ${sql.id(rows)}`.execute(trx)
  await sql`drop table sought`.execute(trx)
}
