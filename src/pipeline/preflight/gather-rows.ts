import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'

export type Fragment = ReturnType<typeof sql>

/** What a row of a hotel is about, by an id that is one in capitals and in small letters. */
export const target = (row: Fragment) => sql`
  lower(coalesce(${row}.content ->> 'data_point_id', ${row}.content ->> 'question_id',
                 ${row}.content ->> 'property_id', ${row}.content ->> 'standard_id'))`

/** The period that a row is for. */
export const period = (row: Fragment) =>
  sql`concat_ws(' ', ${row}.content ->> 'period_type', ${row}.content ->> 'year', ${row}.content ->> 'month')`

/** What a row writes to, so that another hotel of the same company may write the same. Null: it is not compared. */
export const thing = (row: Fragment) => sql`
  case ${row}.stream
    when 'framework_answers' then to_jsonb(${target(row)} || e'\n' || ${period(row)})
    when 'custom_property_values' then to_jsonb(lower(${row}.content ->> 'property_id'))
    when 'standard_holders' then to_jsonb(lower(${row}.content ->> 'standard_id'))
    when 'calculator_settings' then to_jsonb(''::text)
    when 'calculator_inputs' then ${row}.content - 'inputs' end`

/**
 * Rows that the ledger has of some hotels in some streams, which the table `sought` names: the table `rows`. Its pairs
 * are joined by the whole of an index, so that a planner who knows nothing of the ledger goes by hotel, or over all
 * rows once. From then on all joins are between tables that it knows.
 * @param which the streams that runs read: only of these, and only those that the partner still has.
 */
export async function gather(
  trx: Transaction<Schema>,
  rows: string,
  sought: Fragment,
  columns: Fragment,
  which: readonly string[] | 'all',
): Promise<void> {
  const isSought = which === 'all' ? sql`true` : sql`stream = any(${which}::text[])`
  await sql`create temp table sought on commit drop as select * from (${sought}) named where ${isSought}`.execute(trx)
  await sql`analyze sought`.execute(trx)
  await sql`
    create temp table ${sql.id(rows)} on commit drop as
    select row.row_id, row.partner_id, row.stream, ${columns}
    from sought join source_row row using (partner_id, stream)
    where row.gone_at is null or ${which === 'all'}`.execute(trx)
  await sql`analyze ${sql.id(rows)}`.execute(trx)
  await sql`drop table sought`.execute(trx)
}
