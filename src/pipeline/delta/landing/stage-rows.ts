import { pipeline } from 'node:stream/promises'
import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { copyLine } from '../../../db/copy-text.ts'
import { outcomeTold } from '../../../db/ledger/settle-outcomes.ts'
import { destinationSchemas, schemaName } from '../../../db/schema-standing.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { findKeyContradictions, partOrdinal, settlePartContradictions } from './contradicting-rows.ts'
import { withUnknownParts } from './unknown-codes.ts'

/** A partner row on its way into the ledger. */
export type StagedRow = {
  partnerId: string
  rowKey: string
  content: Record<string, unknown>
  /** Of two rows with one key the one with the higher ordinal wins; with equal ones nothing says which is newer. */
  ordinal: number
  /** Of a row made of several: the ordinals of those of its parts that came after the first of them. */
  later?: ReadonlyMap<string, number> | null
  /** What is wrong with the row, or null; undefined where its content is not whole yet, so that nobody can say. */
  reason?: string | null | undefined
  withoutCursor?: boolean
  /** Of a first snapshot: the line that the row comes from, as the partner's COPY wrote it. */
  line?: string
  /** Of a later one: the hash of that line. */
  hash?: { high: string; low: string }
}

const columns = 'ordinal, later, partner_id, row_key, content, judged, reason, without_cursor, line, high, low'

/**
 * Makes the temporary table in which rows wait to be compared with the ledger. Each gets the number that it will have
 * there if it is new: so what belongs to it need not be looked up again by its key, which is long.
 */
export async function createStage(trx: Transaction<Schema>): Promise<void> {
  const { rows } = await sql<{ sequence: string }>`
    select pg_get_serial_sequence('source_row', 'row_id') as sequence`.execute(trx)
  await sql`
    create temp table staged (
      row_id bigint not null default nextval(${sql.lit(rows[0]?.sequence)}),
      ordinal bigint not null,
      later jsonb,
      partner_id text not null,
      row_key text not null,
      content jsonb not null,
      judged boolean not null,
      reason text,
      without_cursor boolean not null,
      line text,
      high bigint,
      low bigint
    ) on commit drop`.execute(trx)
}

/** Takes back what was staged, where it turns out that more has to be read. */
export async function emptyStage(trx: Transaction<Schema>): Promise<void> {
  await sql`truncate staged`.execute(trx)
}

/** @param lines of `stagedLine`; may be called several times. */
export async function stageRows(client: PoolClient, lines: AsyncIterable<string> | Iterable<string>): Promise<void> {
  await pipeline(lines, client.query(copyFrom(`copy staged (${columns}) from stdin`)))
}

/** A row in COPY's text form, which JSON passes unquoted. */
export function stagedLine(row: StagedRow): string {
  const { ordinal, later, partnerId, rowKey, content, reason, withoutCursor = false, line, hash } = row
  const judged = reason !== undefined
  return copyLine([
    ordinal,
    later && JSON.stringify(Object.fromEntries(later)),
    partnerId,
    rowKey,
    JSON.stringify(content),
    judged,
    reason,
    withoutCursor,
    line,
    hash?.high,
    hash?.low,
  ])
}

/** Of rows with one key the latest, each with the hash of its content. */
export const latestRows = latestOf(sql`content`)

/** The same for rows of which each is a whole, made of parts: one that is null says nothing of what was never said. */
export const wholeRows = latestOf(sql`jsonb_strip_nulls(content) as content`)

function latestOf(content: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
  select row_id, partner_id, row_key, content,
         substring(sha256(convert_to(content::text, 'UTF8')) for 16) as hash, judged, reason, null::text as contradicts,
         null::jsonb as contradicting_parts
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
  await findKeyContradictions(trx)
  await sql`
    update landed set content = said.content, hash = said.hash, contradicts = said.contradicts
    from contradiction said
    where said.row_key = landed.row_key`.execute(trx)
  await sql`drop table contradiction`.execute(trx)
}

/**
 * Of which ledger rows all is staged that the partner has: `returning` are those that were gone, and `some` are these
 * and those in the table `vanished_row`. A delta alone brings what changed, and proves of no row that this is all.
 */
export type CompleteRows = 'none' | 'returning' | 'some' | 'all'

/**
 * Merges rows with one key into one, under `foldedKey`, and over what the ledger holds: the table `landed`. A part that
 * contradicted itself does so until it is said again, or nothing of it came with all there is of its row.
 *
 * @param options.completeRows whether the rows staged of a key are all that the partner has of it: what the ledger
 *   holds beyond them has been taken back then, like a value that became null.
 * @param options.lookups whether names of parts are looked up, so that one may be there under a code that is unknown.
 */
export async function foldTogether(
  trx: Transaction<Schema>,
  stream: string,
  foldedKey: string,
  { completeRows, lookups }: { completeRows: CompleteRows; lookups: boolean },
): Promise<void> {
  const isComplete = {
    none: sql`false`,
    returning: sql`held.gone_at is not null`,
    // Of a row that was gone no line was left, so what comes now is all that the partner has.
    some: sql`lost.row_id is not null or held.gone_at is not null or held.guard_change = 'gone'`,
    all: sql`true`,
  }[completeRows]
  const complete = lookups ? sql`unknown.row_key is null and (${isComplete})` : isComplete
  const unknown = sql`left join unknown on unknown.row_key = merged.row_key`
  const needless = await needlessBlanks(trx, stream, foldedKey)
  const lost = completeRows === 'some' ? sql`left join vanished_row lost on lost.row_id = held.row_id` : sql``
  await sql`
    create temp table landed on commit drop as
    with parts as (
      select row_id, row_key, part.key, part.value, ${partOrdinal} as ordinal
      from staged, jsonb_each(content -> ${foldedKey}::text) as part
    ),
    merged as (
      -- Of values with one name the last one stays.
      select row_key, jsonb_object_agg(key, value order by ordinal) as parts, count(*) as said,
             min(row_id) <> max(row_id) as several
      from parts group by row_key
    ),
    ${lookups ? sql`unknown as (${withUnknownParts(stream, completeRows !== 'some')}),` : sql``}
    first as (
      select distinct on (row_key) row_key, partner_id, content from staged order by row_key, ordinal
    ),
    folded as (
      select first.partner_id, merged.row_key, first.content,
             several and said > (select count(*) from jsonb_object_keys(merged.parts)) as repeated,
             before.parts || taken_back.parts || known.parts as parts,
             case when held.contradicting_parts is not null and not (${complete}) then ${unsaid} end
               as contradicting_parts,
             held.row_id as held_row, held.content as held_content, held.desired_hash as held_hash
      from merged
      join first using (row_key)
      left join source_row held on held.stream = ${stream} and held.row_key = merged.row_key
      ${lost}
      ${lookups ? unknown : sql``}
      cross join lateral (select ${respelt(foldedKey)} as parts) before
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
    ),
    whole as (
      select partner_id, row_key, repeated, contradicting_parts,
             content || jsonb_build_object(${foldedKey}::text, parts - ${needless}) as content
      from folded
      -- Worked out once a row, not again for its hash.
      offset 0
    )
    select nextval(pg_get_serial_sequence('source_row', 'row_id')) as row_id, partner_id, row_key, content,
           substring(sha256(convert_to(content::text, 'UTF8')) for 16) as hash,
           false as judged, null::text as reason, null::text as contradicts, contradicting_parts, repeated
    from whole`.execute(trx)
  await settlePartContradictions(trx, foldedKey)
}

/**
 * The parts that the ledger holds of a row, each by the name that comes for it now: names are ids, and are one in
 * capitals and in small letters. One that the ledger has by both names stays two, as it may be at the partner.
 */
function respelt(foldedKey: string): RawBuilder<unknown> {
  const parts = sql`(held.content -> ${foldedKey}::text)`
  // Of two spellings one has capitals. Most rows have none, and need no look at each name.
  return sql`
    case when lower(concat(${parts}, merged.parts) collate "C") = concat(${parts}, merged.parts) collate "C"
         then coalesce(${parts}, '{}')
         else (
           select coalesce(jsonb_object_agg(coalesce(came.key, said.key), said.value), '{}')
           from jsonb_each(${parts}) said
           left join jsonb_object_keys(merged.parts) came(key)
             on lower(came.key) = lower(said.key) and came.key <> said.key and not ${parts} ? came.key
         )
    end`
}

/** Of the parts that contradicted themselves in the ledger those that do not come now; null where all do. */
const unsaid = sql`(
  select jsonb_object_agg(part.key, part.value) from jsonb_each(held.contradicting_parts) part
  where not exists (
    select from jsonb_object_keys(merged.parts) came(key) where lower(came.key) = lower(part.key)
  )
)`

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
async function needlessBlanks(
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
 * the row is in flight, its outcome is unknown, it was rejected and may have been taken, or what was accepted has been
 * forgotten since. Then the row tells what it was when that was accepted. What was rejected in doubt is sent blank
 * once: a row that was then rejected without a value of the name would be barred by it for ever. Requests to another
 * destination tell nothing, nor do those to the one in use from before the hotel became another company. The past is
 * read where it is kept: a plan, which works on copies, has none of it.
 * @param schema of a destination that waits; none: the one in use.
 */
function mayHold(stream: string, foldedKey: string, schema?: string): RawBuilder<unknown> {
  const tableOf = (name: string) => (schema === undefined ? sql.id(name) : sql.id(schema, name))
  const destination = sql`(
    select destination_id from ${sql.id(schemaName, 'destination')}
    where coalesce(schema_name, ${schemaName}) = ${schema ?? schemaName}
  )`
  const movedSince =
    schema === undefined
      ? sql`exists (
          select from ${sql.id(schemaName, 'mapping_change')} moved
          where moved.partner_id = took.partner_id and moved.changed_at >= submission.settled_at)`
      : sql`false`
  const past = sql`(
    select content_before -> ${foldedKey}::text as parts, hash_before as hash, changed_at as until
    from ${sql.id(schemaName, 'row_change')} change where change.row_id = took.row_id
    union all
    select folded.held_content -> ${foldedKey}::text, folded.held_hash, 'infinity'
  ) past`
  return sql`
    exists (
      select from ${tableOf('acceptance')} took
      left join lateral (
        select past.parts
        from ${past}
        where case when took.accepted_hash is null then past.until >= took.accepted_at
                   else past.hash = took.accepted_hash end
        order by past.until limit 1
      ) accepted on true
      where took.row_id = folded.held_row and (
        took.outcome = 'unknown'
        or took.perhaps_taken_at is not null and not exists (
          select from ${past}
          where past.hash = took.refused_hash and not exists (
            select from jsonb_each(past.parts) said where lower(said.key) = lower(part.key) and said.value <> 'null')
        )
        or exists (
          select from ${sql.id(schemaName, 'submission_row')} tried
          join ${sql.id(schemaName, 'submission')} submission using (submission_id)
          join ${sql.id(schemaName, 'run')} run using (run_id)
          where tried.row_id = took.row_id and ${outcomeTold('tried', 'submission')} = 'unknown'
            and run.destination_id = ${destination} and not ${movedSince}
            and (took.accepted_hash is null or took.accepted_at is null or submission.settled_at > took.accepted_at)
        )
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
