import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/**
 * Keeps what was left out of the page, companies and calculators first, at most `maxRows` of it: a page on which
 * everything is wrong must not fill the disk.
 * @returns how many things were left out, kept or not.
 */
export async function storeQuarantine(trx: Transaction<Schema>, pageId: number, maxRows: number): Promise<number> {
  await trx.deleteFrom('quarantine').where('page_id', '=', pageId).execute()
  await sql`
    insert into quarantine (page_id, unit, company_id, calculator_id, item, reason, excerpt)
    select ${pageId}::bigint, unit, company_id, calculator_id, item, reason, excerpt
    from staged_left_out
    order by case unit when 'company' then 0 when 'calculator' then 1 else 2 end, seq
    limit ${maxRows}`.execute(trx)
  const { rows } = await sql<{ rows: number }>`select count(*) as rows from staged_left_out`.execute(trx)
  return Number(rows[0]?.rows ?? 0)
}
