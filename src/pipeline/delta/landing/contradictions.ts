import { sql, type Transaction } from 'kysely'
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
export async function findContradictions(trx: Transaction<Schema>): Promise<void> {
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
      select min(row_id) as row_id, min(partner_id) as partner_id, row_key, count(*) as contents, min(text)::jsonb as one, max(text)::jsonb as other,
             substring(sha256(convert_to(string_agg(text, E'\n' order by text), 'UTF8')) for 16) as hash
      from said group by row_key having count(*) > 1
    )
    select row_id, partner_id, row_key, one as content, hash, true as judged, null::text as reason,
           format('the partner yields %s rows with this key, and nothing says which is newer. They differ in %s. Fix the query, so that it yields one',
                  contents, left(differences, ${quotedCharacters}::integer)) as contradicts
    from gathered
    cross join lateral (
      select string_agg(format('%s: %s and %s', key, coalesce(a.value::text, 'nothing'), coalesce(b.value::text, 'nothing')),
                        ', ' order by key) as differences
      from jsonb_each(one) a full join jsonb_each(other) b using (key)
      where a.value is distinct from b.value
    ) compared_contents`.execute(trx)
}
