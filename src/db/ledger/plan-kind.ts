import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import { hasCandidates, sweepKind } from './candidates.ts'
import { failedWithOther } from './failed-with-other.ts'
import { type Requires, requirementTable } from './requirements.ts'
import { lacksRequirement } from './row-state.ts'
import { isSuspended, keepSuspensions } from './suspended-hotels.ts'
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
  const gathered = await gatherRows(trx, {
    runId,
    kind,
    streams,
    kindStreams,
    requires,
    partition: partitionBy === null ? sql`''::text` : sql`coalesce(row.content ->> ${partitionBy}::text, '')`,
    sendable,
    maxRowsOfProperty: Math.max(1, Math.floor(maxRows / 2)),
    maxRows,
    requests,
  })
  const ids = gathered === 0 ? [] : await cut(trx, options)
  if (ids.length > 0) await recordReleases(trx, runId, requires)
  await sql`drop table cut_row, cut_property`.execute(trx)
  return ids
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

/** Cuts what was gathered, keeps the fullest submissions, and makes candidates again of what they do not carry. */
async function cut(trx: Transaction<Schema>, options: PlanKindOptions): Promise<number[]> {
  const { runId, kind, maxRows, requests } = options
  await sql`analyze cut_row (partner_id, target, kept)`.execute(trx)
  const { rows } = await sql<{ submission_id: number }>`
    with property as (
      select partner_id, target, min(partition) filter (where kept) as partition, count(*) filter (where kept) as size,
             not bool_and(kept) as more
      from cut_row group by partner_id, target
    ),
    single as (
      select partner_id, partition, size, more
      from (select *, min(partner_id) over (partition by target) as first_of_target from property) gathered
      where partner_id = first_of_target
    ),
    numbered as (
      select partner_id, partition, size, more,
             (sum(size) over (partition by partition order by partner_id) - size)::bigint
               / (${maxRows} - max(size) over () + 1) as ordinal
      from single
    ),
    fullest as (
      select partition, ordinal, sum(size)::bigint as row_count
      from numbered group by partition, ordinal
      order by row_count desc, partition, ordinal
      limit ${requests}
    ),
    cut as materialized (
      select partition, ordinal, row_count, nextval(pg_get_serial_sequence('submission', 'submission_id'))
        as submission_id
      from (select * from fullest order by partition, ordinal) ordered
    ),
    carrying as materialized (
      select partner_id, more, submission_id from numbered join cut using (partition, ordinal)
    ),
    carried as materialized (
      select row_id, stream, partner_id, wanted_hash, more, submission_id
      from cut_row join carrying using (partner_id)
      where kept
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
    put_back as (
      insert into candidate (run_id, kind, partner_id)
      select ${runId}::bigint, ${kind}, partner_id
      from (select partner_id from property except select partner_id from carrying) left_over
      on conflict do nothing
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

type Gathering = {
  runId: number
  kind: string
  streams: readonly string[]
  kindStreams: readonly string[]
  requires: Requires
  /** What requests are kept apart by, of a row called `row`. */
  partition: RawBuilder<string>
  /** Whether a row, called `row`, could go out as far as the row itself says. */
  sendable: RawBuilder<boolean>
  /** Rows of one property in one request at most. */
  maxRowsOfProperty: number
  maxRows: number
  /** Requests that are wanted. */
  requests: number
}

/** Candidates looked at in one statement: few at first, because nobody knows how many rows they bring. */
const firstBatch = 64
const largestBatch = 10_000

/** Requests' worth of rows gathered beyond those wanted, at most: where rows spread over many partitions. */
const spareRequests = 8

/**
 * Takes candidates and gathers their ready rows in the temporary table `cut_row`, until there are enough for the
 * requests that are wanted, or no candidates are left. Of one target, which is a company of the service or a property
 * that has none yet, rows of one partner id and one partition are kept, and only if nothing of it is in flight. What is
 * not kept of a property, and what is in flight, says that the property is looked at again when its submission ends.
 *
 * @returns how many rows.
 */
async function gatherRows(trx: Transaction<Schema>, gathering: Gathering): Promise<number> {
  await sql`
    create temp table cut_row (
      row_id bigint, stream text, partner_id text, target text, partition text, wanted_hash bytea, kept boolean)
    on commit drop`.execute(trx)
  await sql`
    create temp table cut_property (submission_id bigint, stream text, partner_id text, more boolean, rows bigint)
    on commit drop`.execute(trx)
  let rows = 0
  for (let batch = firstBatch; ; ) {
    const taken = await takeCandidates(trx, gathering, batch)
    rows += taken.rows
    if (taken.properties < batch) return rows
    const filled = await filledRequests(trx, gathering.maxRows)
    if (filled >= gathering.requests || rows >= (gathering.requests + spareRequests) * gathering.maxRows) return rows
    batch = nextBatch(batch, (gathering.requests - filled) * gathering.maxRows, taken)
  }
}

type Taken = { properties: number; rows: number }

/** As many candidates as should bring the rows that are wanted, by the last ones taken; never many more at a time. */
function nextBatch(batch: number, wanted: number, { properties, rows }: Taken): number {
  const expected = Math.ceil((wanted * properties) / Math.max(rows, 1))
  return Math.min(largestBatch, batch * 4, Math.max(firstBatch, expected))
}

/**
 * Takes the next candidates out, also those that turn out to have nothing ready: what changes that names them again.
 */
async function takeCandidates(
  trx: Transaction<Schema>,
  { runId, kind, streams, kindStreams, requires, partition, sendable, maxRowsOfProperty }: Gathering,
  batch: number,
): Promise<Taken> {
  const { rows } = await sql<Taken>`
    with taken as (
      delete from candidate
      -- By their places: of a long queue only the head is read. Nobody else writes it under the run's lock.
      where ctid = any(array(
        select ctid from candidate where run_id = ${runId} and kind = ${kind} order by partner_id limit ${batch}))
      returning partner_id
    ),
    free as materialized (
      select row.partner_id, row.stream, coalesce(mapping.company_id::text, row.partner_id) as target
      from (select partner_id, unnest(${streams}::text[]) as stream from taken) row
      left join mapping using (partner_id)
      where not exists (
          select from held_property held
          where held.partner_id = row.partner_id and held.stream = any(${kindStreams}::text[]))
        and not exists (
          select from mapping twin
          join held_property held on held.partner_id = twin.partner_id
          where twin.company_id = mapping.company_id and twin.partner_id <> row.partner_id
            and held.stream = any(${kindStreams}::text[]))
        and not ${isSuspended()}
        and not ${lacksRequirement(requires)}
    ),
    -- Of a property that is in flight, by this partner id or another of its company.
    put_off as (
      update held_property held set more = true
      from (
        select partner_id from taken
        union
        select twin.partner_id
        from taken join mapping using (partner_id) join mapping twin on twin.company_id = mapping.company_id
      ) concerned
      where held.partner_id = concerned.partner_id and held.stream = any(${kindStreams}::text[]) and not held.more
    ),
    placed as (
      select ready.row_id, free.stream, free.partner_id, free.target, ready.partition, ready.wanted_hash,
             rank() over (partition by free.partner_id order by ready.partition) = 1
               and row_number() over (partition by free.partner_id, ready.partition order by ready.row_id)
                 <= ${maxRowsOfProperty} as kept
      from free
      cross join lateral (
        select row.row_id, ${partition} as partition, row.desired_hash as wanted_hash
        -- Planned by itself: what the planner expects the conditions to cost would have it scan all of a small table
        -- for each property, rather than look its few rows up.
        from (
          select * from ledger where stream = free.stream and partner_id = free.partner_id offset 0
        ) row
        where ${sendable}
        order by partition, row_id
        limit ${maxRowsOfProperty + 1}
      ) ready
    ),
    gathered as (
      insert into cut_row
      select row_id, stream, partner_id, target, partition, wanted_hash, kept from placed
      returning kept
    )
    select (select count(*) from taken) as properties, (select count(*) from gathered where kept) as rows`.execute(trx)
  return rows[0] ?? { properties: 0, rows: 0 }
}

async function filledRequests(trx: Transaction<Schema>, maxRows: number): Promise<number> {
  const { rows } = await sql<{ filled: number }>`
    select coalesce(sum(rows / ${maxRows}::integer), 0)::bigint as filled
    from (select count(*) as rows from cut_row where kept group by partition) counted`.execute(trx)
  return rows[0]?.filled ?? 0
}
