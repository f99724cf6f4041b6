import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import { hasCandidates, sweepKind } from './candidates.ts'
import { failedWithOther } from './failed-with-other.ts'
import { fetchKept, gatherRows, keepLeft } from './gather-rows.ts'
import { type Requires, requirementTable } from './requirements.ts'
import { keepSuspensions } from './suspended-hotels.ts'
import { wasTried } from './was-tried.ts'

export type PlanKindOptions = {
  runId: number
  kind: string
  /** Those of which rows are planned. */
  streams: readonly string[]
  /** Every stream whose rows travel in requests of the kind: what is in flight of any of them holds a property. */
  kindStreams: readonly string[]
  /** Per stream of the kind: the streams whose rows of the same property must be accepted first. */
  requires: Requires
  partitionBy: string | null
  /** The service takes all rows of a property in a request, or none of them. */
  judgesProperties: boolean
  /** Rows per submission at most. */
  maxRows: number
  /** Submissions at most: the rest waits until some of those have ended. */
  requests: number
  /** Look over all rows of the kind first, not only at candidates: the first time in a run, and before it ends. */
  sweep: boolean
}

/**
 * Cuts ready rows of one kind into submissions and holds them.
 *
 * A row is ready when it is pending, checked and valid, not gone, not in flight, not held by the guard, not rejected
 * as it and what was rejected with it are, not yet tried as it is in this run, of no hotel that people have suspended,
 * and every row that it requires is accepted. Of one property, and of one company of the service, only one submission
 * of a kind is in flight at a time, so two requests never write the same thing at once; a property's rows stay together
 * as far as they fit.
 *
 * @returns the ids of the new submissions.
 */
export async function planKind(trx: Transaction<Schema>, options: PlanKindOptions): Promise<number[]> {
  const { runId, kind, streams, kindStreams, partitionBy, maxRows, requires, requests } = options
  const sendable = sendableRow(options)
  await keepSuspensions(trx)
  if (options.sweep) await sweepKind(trx, runId, { kind, streams }, requires, sendable)
  if (requests < 1 || !(await hasCandidates(trx, runId, kind))) return []
  await createTables(trx)
  const gathering = {
    runId,
    kind,
    streams,
    kindStreams,
    requires,
    partition:
      partitionBy === null ? sql<string>`''::text` : sql<string>`coalesce(row.content ->> ${partitionBy}::text, '')`,
    sendable,
    maxRowsOfProperty: Math.max(1, Math.floor(maxRows / 2)),
    maxRows,
    requests,
  }
  for (let stands = false; !stands; ) {
    await gatherRows(trx, gathering)
    stands = !(await choose(trx, options)) || (await fetchKept(trx, gathering))
    await keepLeft(trx, options)
    if (!stands) await sql`truncate gathered, chosen, cut_row`.execute(trx)
  }
  const ids = await cut(trx, options)
  if (ids.length > 0) await recordReleases(trx, runId, requires)
  await sql`drop table gathered, chosen, cut_row, cut_property`.execute(trx)
  return ids
}

/**
 * What a cut works with: properties that may be carried, with the partition of their next rows; those that are, with
 * their request; the rows of both that are at hand; and how many are carried of each property.
 */
async function createTables(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table gathered (
      partner_id text, target text, partition text, rows bigint, size bigint, more boolean, others boolean,
      kept boolean, place tid)
    on commit drop`.execute(trx)
  await sql`
    create temp table chosen (
      partner_id text, target text, partition text, ordinal bigint, size bigint, more boolean, kept boolean, place tid)
    on commit drop`.execute(trx)
  await sql`
    create temp table cut_row (row_id bigint, stream text, partner_id text, wanted_hash bytea, place tid)
    on commit drop`.execute(trx)
  await sql`
    create temp table cut_property (submission_id bigint, stream text, partner_id text, more boolean, rows bigint)
    on commit drop`.execute(trx)
}

/**
 * Whether a row, which the query must call `row`, could go out as far as the row itself says, if nothing of its
 * property is in flight.
 */
function sendableRow(options: PlanKindOptions): RawBuilder<boolean> {
  const { judgesProperties, kindStreams } = options
  const isLetGo = judgesProperties ? failedWithOther('row', sql`${kindStreams}::text[]`) : sql`false`
  return sql<boolean>`(row.pending
        and row.checked_hash = row.desired_hash
        and row.invalid_reason is null
        and row.gone_at is null
        and row.guard_run is null
        and (row.refused_hash is distinct from row.desired_hash or ${isLetGo})
        and not ${wasTriedAt(options)})`
}

/** What was too large for the service is tried again in smaller requests. */
function wasTriedAt({ runId, maxRows }: PlanKindOptions): RawBuilder<boolean> {
  const isSmaller = sql<boolean>`last.too_large and (last.too_large_row is not null or last.row_count > ${maxRows})`
  return wasTried('row', runId, isSmaller)
}

/**
 * Chooses the fullest requests among those that what was gathered comes to. Of one target it takes one partner id.
 * @returns whether rows of what was chosen were found by earlier cuts.
 */
async function choose(trx: Transaction<Schema>, { maxRows, requests }: PlanKindOptions): Promise<boolean> {
  const { rows } = await sql<{ any_kept: boolean }>`
    with single as (
      select *
      from (select *, min(partner_id) over (partition by target) as first_of_target from gathered) gathered
      where partner_id = first_of_target
    ),
    numbered as (
      select *,
             (sum(size) over (partition by partition order by partner_id) - size)::bigint
               / (${maxRows} - max(size) over () + 1) as ordinal
      from single
    ),
    fullest as (
      select partition, ordinal
      from numbered group by partition, ordinal
      order by sum(size) desc, partition, ordinal
      limit ${requests}
    ),
    chosen as (
      insert into chosen
      select partner_id, target, partition, ordinal, size, more, kept, place
      from numbered join fullest using (partition, ordinal)
      returning kept
    )
    select coalesce(bool_or(kept), false) as any_kept from chosen`.execute(trx)
  await sql`analyze chosen (partner_id, partition, ordinal)`.execute(trx)
  return rows[0]?.any_kept ?? false
}

/** Makes submissions of what was chosen. */
async function cut(trx: Transaction<Schema>, { runId, kind }: PlanKindOptions): Promise<number[]> {
  await sql`analyze cut_row (partner_id)`.execute(trx)
  const { rows } = await sql<{ submission_id: number }>`
    with cut as materialized (
      select partition, ordinal, row_count, nextval(pg_get_serial_sequence('submission', 'submission_id'))
        as submission_id
      from (
        select partition, ordinal, sum(size)::bigint as row_count
        from chosen group by partition, ordinal order by partition, ordinal
      ) ordered
    ),
    carried as materialized (
      select row_id, stream, partner_id, wanted_hash, more, submission_id
      from cut_row join chosen using (partner_id) join cut using (partition, ordinal)
    ),
    planned as (
      insert into submission (submission_id, run_id, kind, partition, state, row_count)
      overriding system value
      select submission_id, ${runId}, ${kind}, partition, 'planned', row_count from cut
    ),
    linked as (
      insert into submission_row (submission_id, row_id, sent_hash)
      select submission_id, row_id, wanted_hash from carried order by submission_id, row_id
    ),
    gained as (
      insert into cut_property (submission_id, stream, partner_id, more, rows)
      select submission_id, stream, partner_id, more, count(*) from carried
      group by submission_id, stream, partner_id, more
      returning submission_id, stream, partner_id, more
    ),
    held as (
      insert into held_property (partner_id, stream, submission_id, more)
      select partner_id, stream, submission_id, more from gained
    ),
    -- By their places: joined, all that is kept could be read. Nobody else writes it under the run's lock.
    used as (
      delete from candidate_row
      where ctid = any(array(select place from cut_row where place is not null))
    ),
    taken as (
      delete from candidate
      where ctid = any(array(select place from chosen where place is not null))
    )
    select submission_id from cut order by submission_id`.execute(trx)
  return rows.map(({ submission_id }) => submission_id)
}

/**
 * Notes by which submissions of this run the rows of new ones, which `cut_property` counts, were released: what a row
 * requires was accepted by it. A row that required several counts for the one that was accepted last, so that no row
 * counts twice.
 */
async function recordReleases(trx: Transaction<Schema>, runId: number, requires: Requires): Promise<void> {
  if (Object.values(requires).every((names) => names.length === 0)) return
  await sql`
    insert into submission_release (submission_id, released_by, rows)
    select released.submission_id, last.submission_id, sum(released.rows)
    from cut_property released
    cross join lateral (
      select releasing.submission_id
      from ${requirementTable(requires)}
      join ledger needed on needed.stream = requirement.required and needed.partner_id = released.partner_id
      join submission releasing on releasing.submission_id = needed.outcome_submission and releasing.run_id = ${runId}
      where requirement.stream = released.stream and needed.outcome in ('confirmed', 'inferred')
      order by needed.outcome_at desc
      limit 1
    ) last
    group by 1, 2`.execute(trx)
}
