import { sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { contradictionKinds } from '../../preflight/judging-basis.ts'

type ContradictedHotel = { stream: string; partner_id: string }

/**
 * Hotels, stream by stream, whose rows contradict each other or rows of another hotel, as preflight noted it; and those
 * with a row for which the partner yielded two contents. Those whose rows were longest not asked for come first.
 *
 * @param longest partner ids of more characters are not stored as the partner has them, so nobody can ask for them.
 */
export async function contradictedHotels(
  db: Database,
  streams: readonly string[],
  longest: number,
  limit: number,
): Promise<ContradictedHotel[]> {
  const { rows } = await sql<ContradictedHotel>`
    with side as (
      select row_id, asked_at from row_finding where kind in (${contradictionKinds})
      union all
      select other_row_id, asked_at from row_finding where kind in (${contradictionKinds})
    )
    select stream, partner_id
    from (
      select stream, partner_id, asked_at
      from side join source_row using (row_id)
      where gone_at is null
      union all
      select stream, partner_id, null
      from source_row
      where contradiction is not null and gone_at is null
    ) hotel
    where stream = any(${streams}::text[]) and length(partner_id) <= ${longest}
    group by stream, partner_id
    order by min(asked_at) nulls first, partner_id, stream
    limit ${limit}`.execute(db)
  return rows
}

/** Notes that the partner was asked for all rows of hotels, so that others come first in the next run. */
export async function noteAsked(
  trx: Transaction<Schema>,
  stream: string,
  partnerIds: readonly string[],
): Promise<void> {
  await sql`
    with asked as (
      select row_id from source_row where stream = ${stream} and partner_id = any(${partnerIds}::text[])
    )
    update row_finding set asked_at = clock_timestamp()
    where kind in (${contradictionKinds})
      and (row_id in (select row_id from asked) or other_row_id in (select row_id from asked))`.execute(trx)
}

/** Ledger rows of hotels of which all rows are staged, that are not among these: the table `missing_row`. */
export async function findMissingOf(
  trx: Transaction<Schema>,
  stream: string,
  partnerIds: readonly string[],
): Promise<void> {
  await sql`
    create temp table missing_row on commit drop as
    select row_id from source_row
    where stream = ${stream} and partner_id = any(${partnerIds}::text[]) and gone_at is null
      and not exists (select from staged where staged.row_key = source_row.row_key)`.execute(trx)
}

/**
 * Adds what hotels that were asked for brought to light to what the run read of the stream. Rows that were read once
 * more and say the same are not counted a second time.
 */
export async function addToStream(
  trx: Transaction<Schema>,
  runId: number,
  stream: string,
  hotels: number,
  { changed, gone, returned }: { changed: number; gone: number; returned: number },
): Promise<void> {
  await sql`
    update run_stream
    set hotels_asked = hotels_asked + ${hotels}, read = read + ${changed}, changed = changed + ${changed},
        gone = gone + ${gone}, returned = returned + ${returned}
    where run_id = ${runId} and stream = ${stream}`.execute(trx)
}
