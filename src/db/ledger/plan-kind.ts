import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import { hasCandidates, sweepKind } from './candidates.ts'
import { gatherRows } from './gather-rows.ts'
import { type Requires, requirementTable } from './requirement.ts'

export type PlanKindOptions = {
  runId: number
  kind: string
  streams: readonly string[]
  /** Per stream of the kind: the streams whose rows of the same property must be accepted first. */
  requires: Requires
  partitionBy: string | null
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
 * as it is, not yet tried as it is in this run, and every row that it requires is accepted. Of one property, and of one
 * company of the service, only one submission of a kind is in flight at a time, so two requests never write the same
 * thing at once; a property's rows stay together as far as they fit.
 *
 * @returns the ids of the new submissions.
 */
export async function planKind(trx: Transaction<Schema>, options: PlanKindOptions): Promise<number[]> {
  const { runId, kind, streams, partitionBy, maxRows, requires, requests } = options
  const sendable = sendableRow(options)
  if (options.sweep) await sweepKind(trx, runId, { kind, streams }, requires, sendable)
  if (requests < 1 || !(await hasCandidates(trx, runId, kind))) return []
  const gathered = await gatherRows(trx, {
    runId,
    kind,
    streams,
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
  const { runId, maxRows } = options
  return sql<boolean>`(row.pending
        and row.checked_hash = row.desired_hash
        and row.invalid_reason is null
        and row.gone_at is null
        and row.guard_run is null
        and row.refused_hash is distinct from row.desired_hash
        and not exists (
          select from submission_row tried
          where tried.row_id = row.row_id
            and tried.sent_hash is not distinct from row.desired_hash
            -- By the row, not by the run: a row was sent a few times, and a run may have thousands of submissions.
            and (
              select submission.run_id = ${runId}
                and (submission.attempted_at is not null or coalesce(tried.outcome,
                  submission.rest_outcome) is not null)
                -- What was too large for the service is tried again in smaller requests.
                and not (submission.too_large and (submission.too_large_row is not null
                  or submission.row_count > ${maxRows}))
              from submission where submission.submission_id = tried.submission_id)))`
}

/** Cuts what was gathered, keeps the fullest submissions, and makes candidates again of what they do not carry. */
async function cut(trx: Transaction<Schema>, options: PlanKindOptions): Promise<number[]> {
  const { runId, kind, maxRows, requests } = options
  await sql`analyze cut_row`.execute(trx)
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
