import { type RawBuilder, sql, type Transaction } from 'kysely'
import { destinationSchemas } from '../../../db/destination-schemas.ts'
import { schemaName } from '../../../db/schema-standing.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'

/**
 * The names of the parts of a row that are null, and that need not be sent blank: an array, of a row `folded` that is
 * about to land with its `parts`, and of what the ledger holds of it, `held`. (Spec gap: docs/spec-gaps.md, "Absent
 * inputs".)
 *
 * A blank takes back what a destination may hold. Of a name that no destination ever took it says nothing, and makes
 * the service reject the row for ever where it does not know the name. So does that of a name whose other spelling, in
 * capitals or in small letters, is there: they are one.
 *
 * A row that would land as it is stays so, unless it was rejected: what was accepted must not be sent again for this.
 */
export async function needlessBlanks(
  trx: Transaction<Schema>,
  stream: string,
  foldedKey: string,
): Promise<RawBuilder<unknown>> {
  const waiting = (await destinationSchemas(trx)).filter((schema) => schema !== schemaName)
  const rejected = sql`
    exists (select from acceptance took where took.row_id = folded.held_row and took.outcome = 'rejected')`
  const changes = sql`folded.held_content <> folded.content || jsonb_build_object(${foldedKey}::text, folded.parts)`
  const elsewhere = waiting.map((schema) => sql`or ${mayHold(stream, foldedKey, schema)}`)
  return sql`
    array(
      select part.key
      from jsonb_each(folded.parts) part
      where part.value = 'null' and (
        exists (
          select from jsonb_each(folded.parts) twin
          where lower(twin.key) = lower(part.key) and twin.key <> part.key
            and (twin.value <> 'null' or twin.key < part.key)
        )
        or (${changes} or ${rejected})
          and not ${mayHold(stream, foldedKey)}
          -- What waits may have taken what the one in use rejects, and would bar the way for ever.
          and (${rejected} or not (false ${sql.join(elsewhere, sql` `)}))
      )
    )`
}

/**
 * Whether a destination may hold a value of `part`: it had one in what was last accepted, or nobody can say, because
 * the row is in flight, its outcome is unknown, or what was accepted has been forgotten since. Then the row tells what
 * it was when that was accepted.
 * @param schema of a destination that waits; none: the one in use.
 */
function mayHold(stream: string, foldedKey: string, schema?: string): RawBuilder<unknown> {
  const tableOf = (name: string) => (schema === undefined ? sql.id(name) : sql.id(schema, name))
  return sql`
    exists (
      select from ${tableOf('acceptance')} took
      left join lateral (
        select past.content -> ${foldedKey}::text as parts
        from (
          select content_before as content, hash_before as hash, changed_at as until
          from row_change where row_change.row_id = took.row_id
          union all
          select folded.held_content, folded.held_hash, 'infinity'
        ) past
        where case when took.accepted_hash is null then past.until >= took.accepted_at
                   else past.hash = took.accepted_hash end
        order by past.until limit 1
      ) accepted on true
      where took.row_id = folded.held_row and (
        took.outcome = 'unknown'
        or exists (
          select from ${tableOf('held_property')} flying
          where flying.partner_id = took.partner_id and flying.stream = ${stream}
        )
        or (took.accepted_hash is not null or took.accepted_at is not null) and (
          accepted.parts is null
          or exists (
            select from jsonb_each(accepted.parts) said
            where lower(said.key) = lower(part.key) and (said.value <> 'null' or took.accepted_hash is null)
          )
        )
      )
    )`
}
