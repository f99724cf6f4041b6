import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'
import { gather, target } from './gather-rows.ts'

/**
 * Values of one custom property, or standards, of one hotel with their ids in capitals and in small letters, that say
 * different things: one would overwrite the other. Into the table `pair`, from the table `newcomer`.
 */
export async function pairSpellings(trx: Transaction<Schema>): Promise<void> {
  const sought = sql`
    select distinct partner_id, stream from newcomer where stream in ('custom_property_values', 'standard_holders')`
  await gather(trx, 'spelling', sought, sql`${target(sql`row`)} as target`)
  // Rows of one key are one, so that two with one target are spelt otherwise.
  await sql`
    create temp table meeting on commit drop as
    select newcomer.row_id as one, spelling.row_id as other
    from newcomer join spelling using (partner_id, stream, target)
    where spelling.row_id <> newcomer.row_id`.execute(trx)
  await sql`analyze meeting`.execute(trx)
  await sql`
    insert into pair
    select distinct least(one, other), greatest(one, other), 'two_spellings'
    from meeting
    join source_row mine on mine.row_id = one
    join source_row theirs on theirs.row_id = other
    where mine.content - array['property_id', 'standard_id'] <> theirs.content - array['property_id', 'standard_id']`.execute(
    trx,
  )
  await sql`drop table spelling, meeting`.execute(trx)
}
