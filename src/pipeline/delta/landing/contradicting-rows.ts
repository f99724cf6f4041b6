import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/** Characters of a reason that quote what the rows say. More help nobody, and texts of partners may be any length. */
const quotedCharacters = 300

/**
 * Staged rows that share a key while nothing says which is newer, and that differ: the table `contradiction`, with the
 * columns of `landed`. To be asked only when keys repeat.
 *
 * The ledger row keeps one of the contents, the first in the order of their texts, under a hash over all of them: so it
 * is the same every night in whatever order the rows come, and equals none that was accepted.
 */
export async function findKeyContradictions(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table contradiction on commit drop as
    with repeated as (
      select row_key from staged group by row_key having count(*) > 1
    ),
    ranked as (
      select row_id, partner_id, row_key, content, rank() over (partition by row_key order by ordinal desc) as place
      from staged join repeated using (row_key)
    ),
    said as (
      select min(row_id) as row_id, min(partner_id) as partner_id, row_key, content::text collate "C" as text
      from ranked where place = 1 group by row_key, content::text collate "C"
    ),
    gathered as (
      select min(row_id) as row_id, min(partner_id) as partner_id, row_key, count(*) as contents,
             min(text)::jsonb as one, max(text)::jsonb as other,
             substring(sha256(convert_to(string_agg(text, E'\n' order by text), 'UTF8')) for 16) as hash
      from said group by row_key having count(*) > 1
    )
    select row_id, partner_id, row_key, one as content, hash, true as judged, null::text as reason,
           null::jsonb as contradicting_parts,
           format('the partner yields %s rows with this key, and nothing says which is newer. '
                  'They differ in %s. Fix the query, so that it yields one',
                  contents, left(differences, ${quotedCharacters}::integer)) as contradicts
    from gathered
    cross join lateral (
      select string_agg(
               format('%s: %s and %s', key, coalesce(a.value::text, 'nothing'), coalesce(b.value::text, 'nothing')),
               ', ' order by key) as differences
      from jsonb_each(one) a full join jsonb_each(other) b using (key)
      where a.value is distinct from b.value
    ) compared_contents`.execute(trx)
}

/** Where a `part` of a staged row stands among the others: rows that were merged on their way may have more cursors. */
export const partOrdinal: RawBuilder<unknown> = sql`coalesce((later ->> part.key)::bigint, ordinal)`

/**
 * Parts of one row that were said more than once, while nothing says which is newer, and that differ: their rows in the
 * table `landed` get a reason. They keep the first of the values in the order of their texts, under a hash over all of
 * them, as rows that share a key do. Only rows of which a part is `repeated` are looked at, and those of which one
 * contradicted itself before and was not said again: they keep their `contradicting_parts`.
 */
export async function settlePartContradictions(trx: Transaction<Schema>, foldedKey: string): Promise<void> {
  const { rows } = await sql<{ any: boolean }>`
    select exists (select from landed where repeated or contradicting_parts is not null) as any`.execute(trx)
  if (rows[0]?.any !== true) return
  await sql`
    with ranked as (
      select row_key, part.key, part.value::text collate "C" as text,
             rank() over (partition by row_key, part.key order by ${partOrdinal} desc) as place
      from staged join landed using (row_key), jsonb_each(staged.content -> ${foldedKey}::text) as part
      where repeated
    ),
    said as (
      select row_key, key, text from ranked where place = 1 group by row_key, key, text
    ),
    gathered as (
      select row_key, key, min(text)::jsonb as one, string_agg(text, ' and ' order by text) as shown
      from said group by row_key, key having count(*) > 1
    ),
    found as (
      select row_key, jsonb_object_agg(key, one) as parts, jsonb_object_agg(key, shown) as shown
      from gathered group by row_key
    ),
    made as (
      select row_key, coalesce(contradicting_parts, '{}') || coalesce(shown, '{}') as contradicting,
             landed.content
               || jsonb_build_object(${foldedKey}::text, landed.content -> ${foldedKey}::text || coalesce(parts, '{}'))
               as content
      from landed left join found using (row_key)
      where contradicting_parts is not null or shown is not null
      offset 0
    )
    update landed
    set content = made.content, contradicting_parts = contradicting,
        contradicts = format(
          'the partner yields several values of one of the %s, and nothing says which is newer: %s. '
          'Fix the query, so that it yields one',
          ${foldedKey}::text,
          (select left(string_agg(concat(key, ': ', value), ', ' order by key), ${quotedCharacters}::integer)
           from jsonb_each_text(contradicting))),
        hash = substring(sha256(convert_to(concat(made.content::text, E'\n', contradicting::text), 'UTF8')) for 16)
    from made where made.row_key = landed.row_key`.execute(trx)
}
