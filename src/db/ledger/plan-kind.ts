import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'

export type PlanKindOptions = {
  runId: number
  kind: string
  streams: readonly string[]
  /** Per stream of the kind: the streams whose rows of the same property must be accepted first. */
  requires: Readonly<Record<string, readonly string[]>>
  partitionBy: string | null
  /** Rows per submission at most. */
  maxRows: number
  /** Rejected rows of these streams are asked about again when the rejection is older than `resendBefore`. */
  resendStreams: readonly string[]
  resendBefore: Date
}

/**
 * Cuts the ready rows of one kind into submissions and holds them, in one statement.
 *
 * A row is ready when it is pending, checked and valid, held by nothing, not refused as it is, not yet tried in this
 * run, and every row that it requires is accepted. Of one property only one submission of a kind is in flight at a
 * time, so two requests never write the same thing at once; a property's rows stay together as far as they fit.
 *
 * @returns the ids of the new submissions.
 */
export async function planKind(trx: Transaction<Schema>, options: PlanKindOptions): Promise<number[]> {
  const { runId, kind, streams, partitionBy, maxRows } = options
  const partition = partitionBy === null ? sql`''::text` : sql`coalesce(r.content ->> ${partitionBy}::text, '')`
  const requirements = Object.entries(options.requires).flatMap(([stream, required]) =>
    required.map((name) => ({ stream, required: name })),
  )
  const { rows } = await sql<{ submission_id: number }>`
    with requirement as (
      select * from jsonb_to_recordset(${JSON.stringify(requirements)}::jsonb) as _(stream text, required text)
    ),
    ready as (
      select r.row_id, r.partner_id, ${partition} as partition
      from source_row r
      where r.stream = any(${streams}::text[])
        and r.accepted_hash is distinct from r.desired_hash
        and r.checked_hash = r.desired_hash
        and r.invalid_reason is null
        and r.held_by is null
        and (r.refused_hash is distinct from r.desired_hash
             or (r.stream = any(${options.resendStreams}::text[]) and r.outcome_at < ${options.resendBefore}))
        and not exists (
          select from submission tried where tried.submission_id = r.outcome_submission and tried.run_id = ${runId})
        and not exists (
          select from source_row other
          where other.partner_id = r.partner_id and other.stream = any(${streams}::text[]) and other.held_by is not null)
        and not exists (
          select from requirement
          where requirement.stream = r.stream
            and not exists (
              select from source_row needed
              where needed.stream = requirement.required and needed.partner_id = r.partner_id
              having count(*) > 0 and bool_and(needed.accepted_hash is not distinct from needed.desired_hash)))
    ),
    first_partition as (
      select row_id, partner_id, partition,
             rank() over (partition by partner_id order by partition) as partition_rank,
             row_number() over (partition by partner_id, partition order by row_id) as place
      from ready
    ),
    kept as (
      select row_id, partner_id, partition
      from first_partition
      where partition_rank = 1 and place <= ${Math.max(1, Math.floor(maxRows / 2))}
    ),
    property as (
      select partition, partner_id, count(*) as size from kept group by partition, partner_id
    ),
    placed as (
      select partition, partner_id,
             (sum(size) over (partition by partition order by partner_id) - size)
               / (${maxRows} - max(size) over () + 1) as position
      from property
    ),
    cut as materialized (
      select partition, trunc(position)::bigint as ordinal, count(*) as row_count,
             nextval(pg_get_serial_sequence('submission', 'submission_id')) as submission_id
      from placed join kept using (partition, partner_id)
      group by partition, trunc(position)::bigint
      order by partition, ordinal
    ),
    planned as (
      insert into submission (submission_id, run_id, kind, partition, state, row_count)
      overriding system value
      select submission_id, ${runId}, ${kind}, partition, 'planned', row_count from cut
    ),
    assigned as materialized (
      select kept.row_id, cut.submission_id
      from kept
      join placed using (partition, partner_id)
      join cut on cut.partition = kept.partition and cut.ordinal = trunc(placed.position)::bigint
    ),
    linked as (
      insert into submission_row (submission_id, row_id) select submission_id, row_id from assigned
    ),
    held as (
      update source_row set held_by = assigned.submission_id from assigned where source_row.row_id = assigned.row_id
    )
    select submission_id from cut order by submission_id`.execute(trx)
  return rows.map(({ submission_id }) => submission_id)
}
