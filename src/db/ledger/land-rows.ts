import { pipeline } from 'node:stream/promises'
import { sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Schema } from '../tables/schema.ts'

export type LandedCounts = { folded: number; unchanged: number; changed: number }

const columns = 'partner_id, row_key, content'

/**
 * Compares freshly read rows with the ledger and stores what differs, all inside the caller's transaction.
 * The content's hash is taken over jsonb's own text, whose key order does not depend on the partner's.
 *
 * @param lines rows in COPY's CSV form, in cursor order: of two with one key the later wins.
 * @param foldedKey set where several partner rows make one ledger row: contents are merged under this key.
 */
export async function landRows(
  client: PoolClient,
  trx: Transaction<Schema>,
  stream: string,
  lines: AsyncIterable<string>,
  foldedKey: 'inputs' | undefined,
): Promise<LandedCounts> {
  await sql`
    create temp table landing (
      ordinal bigint generated always as identity,
      partner_id text not null,
      row_key text not null,
      content jsonb not null
    ) on commit drop`.execute(trx)
  await pipeline(lines, client.query(copyFrom(`copy landing (${columns}) from stdin with (format csv)`)))
  await sql`analyze landing`.execute(trx)
  await (foldedKey === undefined ? keepLatest(trx) : foldTogether(trx, stream, foldedKey))

  const { rows } = await sql<{ landed: number; distinct: number; changed: number }>`
    with stored as (
      insert into source_row as held (stream, partner_id, row_key, content, desired_hash)
      select ${stream}, partner_id, row_key, content, sha256(convert_to(content::text, 'UTF8'))
      from landed
      order by row_key
      on conflict (stream, row_key) do update
      set content = excluded.content, desired_hash = excluded.desired_hash, partner_id = excluded.partner_id,
          changed_at = clock_timestamp()
      where held.desired_hash is distinct from excluded.desired_hash
      returning 1
    )
    select (select count(*) from landing) as landed,
           (select count(*) from landed) as distinct,
           (select count(*) from stored) as changed`.execute(trx)
  const counts = rows[0] ?? { landed: 0, distinct: 0, changed: 0 }
  await sql`drop table landing, landed`.execute(trx)
  return {
    folded: counts.landed - counts.distinct,
    unchanged: counts.distinct - counts.changed,
    changed: counts.changed,
  }
}

async function keepLatest(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table landed on commit drop as
    select distinct on (row_key) partner_id, row_key, content
    from landing
    order by row_key, ordinal desc`.execute(trx)
}

async function foldTogether(trx: Transaction<Schema>, stream: string, foldedKey: string): Promise<void> {
  await sql`
    create temp table landed on commit drop as
    with parts as (
      select row_key, part.key, part.value, landing.ordinal
      from landing, jsonb_each(content -> ${foldedKey}::text) as part
    ),
    latest as (
      select distinct on (row_key, key) row_key, key, value from parts order by row_key, key, ordinal desc
    ),
    merged as (
      select row_key, jsonb_object_agg(key, value) as parts from latest group by row_key
    ),
    first as (
      select distinct on (row_key) row_key, partner_id, content from landing order by row_key, ordinal
    )
    select first.partner_id,
           merged.row_key,
           first.content || jsonb_build_object(${foldedKey}::text,
             coalesce(held.content -> ${foldedKey}::text, '{}') || known.parts) as content
    from merged
    join first using (row_key)
    left join source_row held on held.stream = ${stream} and held.row_key = merged.row_key
    -- A null takes back what was said before; of what was never said it says nothing.
    cross join lateral (
      select coalesce(jsonb_object_agg(part.key, part.value), '{}') as parts
      from jsonb_each(merged.parts) part
      where part.value <> 'null' or coalesce(held.content -> ${foldedKey}::text, '{}') ? part.key
    ) known`.execute(trx)
}
