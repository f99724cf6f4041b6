import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { findContradictions } from './contradictions.ts'

/** Of rows with one key the latest, each with the hash of its content. */
export const latestRows = latestOf(sql`content`)

/** The same for rows of which each is a whole, made of parts: one that is null says nothing of what was never said. */
export const wholeRows = latestOf(sql`jsonb_strip_nulls(content) as content`)

function latestOf(content: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
  select row_id, partner_id, row_key, content, substring(sha256(convert_to(content::text, 'UTF8')) for 16) as hash, judged, reason,
         null::text as contradicts
  from (
    select distinct on (row_key) row_id, partner_id, row_key, ${content}, judged, reason
    from staged
    order by row_key, ordinal desc
  ) latest`
}

/** The latest of rows with one key, and what is said of those that contradict each other: the table `landed`. */
export async function keepLatest(trx: Transaction<Schema>): Promise<void> {
  await sql`create temp table landed on commit drop as ${latestRows}`.execute(trx)
  const { rows } = await sql<{ repeated: boolean }>`
    select (select count(*) from staged) > (select count(*) from landed) as repeated`.execute(trx)
  if (rows[0]?.repeated !== true) return
  await findContradictions(trx)
  await sql`
    update landed set content = said.content, hash = said.hash, contradicts = said.contradicts
    from contradiction said
    where said.row_key = landed.row_key`.execute(trx)
  await sql`drop table contradiction`.execute(trx)
}

/**
 * Merges rows with one key into one, under `foldedKey`, and over what the ledger holds: the table `landed`.
 *
 * @param completeRows whether the rows staged of a key are all that the partner has of it: `some` are those in the
 *   table `vanished_row`, and with `some` and `none` those that were gone. What the ledger holds beyond them has been
 *   taken back, like a value that became null.
 */
export async function foldTogether(
  trx: Transaction<Schema>,
  stream: string,
  foldedKey: string,
  completeRows: 'none' | 'some' | 'all',
): Promise<void> {
  // Of a row that was gone the partner had nothing, so what comes now is all that it has.
  const complete = {
    none: sql`held.gone_at is not null`,
    some: sql`lost.row_id is not null or held.gone_at is not null or held.guard_change = 'gone'`,
    all: sql`true`,
  }[completeRows]
  const lost = completeRows === 'some' ? sql`left join vanished_row lost on lost.row_id = held.row_id` : sql``
  await sql`
    create temp table landed on commit drop as
    with parts as (
      select row_key, part.key, part.value, staged.ordinal
      from staged, jsonb_each(content -> ${foldedKey}::text) as part
    ),
    latest as (
      select distinct on (row_key, key) row_key, key, value from parts order by row_key, key, ordinal desc
    ),
    merged as (
      select row_key, jsonb_object_agg(key, value) as parts from latest group by row_key
    ),
    first as (
      select distinct on (row_key) row_key, partner_id, content from staged order by row_key, ordinal
    ),
    folded as (
      select first.partner_id, merged.row_key,
             first.content || jsonb_build_object(${foldedKey}::text, before.parts || taken_back.parts || known.parts) as content
      from merged
      join first using (row_key)
      left join source_row held on held.stream = ${stream} and held.row_key = merged.row_key
      ${lost}
      cross join lateral (select coalesce(held.content -> ${foldedKey}::text, '{}') as parts) before
      cross join lateral (
        select coalesce(jsonb_object_agg(part.key, 'null'::jsonb), '{}') as parts
        from jsonb_each(before.parts) part
        where ${complete}
      ) taken_back
      -- A null takes back what was said before; of what was never said it says nothing.
      cross join lateral (
        select coalesce(jsonb_object_agg(part.key, part.value), '{}') as parts
        from jsonb_each(merged.parts) part
        where part.value <> 'null' or before.parts ? part.key
      ) known
    )
    select nextval(pg_get_serial_sequence('source_row', 'row_id')) as row_id, partner_id, row_key, content,
           substring(sha256(convert_to(content::text, 'UTF8')) for 16) as hash,
           false as judged, null::text as reason, null::text as contradicts
    from folded`.execute(trx)
}
