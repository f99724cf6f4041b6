import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { PartsShape } from '../streams/stream.ts'
import { maxPartnerIdLength } from '../streams/rules/row-content.ts'
import { partOrdinal } from './landing/contradicting-rows.ts'

/** Rows that have no cursor come first, and share this ordinal. */
const withoutCursor = sql`${partOrdinal} = 0`

/**
 * Hotels of which a delta brought a row without a cursor that may not be the latest of its key. Such rows come every
 * night. The one with a cursor that won over it does not, so where nothing else of the key came and the ledger says
 * something else, only all rows of the hotel tell which of the two is true. The same holds of each part of a row.
 *
 * Rows that contradict each other and say what they said already are left out: they would be read again each night.
 *
 * @returns at most `limit`. Partner ids that are not stored as the partner has them are left out, because nobody can
 *   ask for them.
 */
export async function overtakenHotels(
  trx: Transaction<Schema>,
  stream: string,
  foldedKey: PartsShape['key'] | undefined,
  limit: number,
): Promise<string[]> {
  await sql`analyze staged (row_key, without_cursor)`.execute(trx)
  const found = foldedKey === undefined ? overtakenRows(stream) : overtakenParts(stream, foldedKey)
  const { rows } = await sql<{ partner_id: string }>`
    select distinct partner_id from (${found}) found
    where length(partner_id) <= ${maxPartnerIdLength}
    limit ${limit}`.execute(trx)
  return rows.map(({ partner_id }) => partner_id)
}

/** Contents are compared by the hash that the ledger row would have, which for rows that differ is taken over all. */
function overtakenRows(stream: string) {
  return sql`
    with differing as materialized (
      select distinct staged.row_key, held.desired_hash
      from staged join source_row held on held.stream = ${stream} and held.row_key = staged.row_key
      where staged.without_cursor and (
        held.contradiction is not null
        or held.desired_hash <> substring(sha256(convert_to(staged.content::text, 'UTF8')) for 16)
      )
    )
    select min(partner_id) as partner_id
    from staged join differing using (row_key)
    group by row_key, desired_hash
    having bool_and(without_cursor) and desired_hash <> substring(sha256(convert_to(
      string_agg(distinct content::text collate "C", E'\n' order by content::text collate "C"), 'UTF8')) for 16)`
}

/** What is null and what was never said are one. */
function overtakenParts(stream: string, foldedKey: PartsShape['key']) {
  return sql`
    with differing as materialized (
      select distinct staged.row_key, part.key,
             coalesce(held.contradicting_parts ->> part.key, (known.parts -> part.key)::text, 'null') as said
      from staged
      join source_row held on held.stream = ${stream} and held.row_key = staged.row_key
      cross join lateral (select coalesce(held.content -> ${foldedKey}::text, '{}') as parts) known
      cross join lateral jsonb_each(staged.content -> ${foldedKey}::text) part
      where staged.without_cursor
        -- Most rows say what they said, and need no look at each part.
        and (held.contradicting_parts is not null or not known.parts @> (staged.content -> ${foldedKey}::text))
        and ${withoutCursor}
        and (coalesce(held.contradicting_parts, '{}') ? part.key
             or part.value <> coalesce(known.parts -> part.key, 'null'))
    )
    select min(partner_id) as partner_id
    from staged
    join differing using (row_key)
    cross join lateral jsonb_each(staged.content -> ${foldedKey}::text) part
    where part.key = differing.key
    group by row_key, differing.key, said
    having bool_and(${withoutCursor})
       and string_agg(distinct part.value::text collate "C", ' and ' order by part.value::text collate "C") <> said`
}
