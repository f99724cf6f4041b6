import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'
import { lacksRequirement, type Requires } from './requirement.ts'

export type PlanKindOptions = {
  runId: number
  kind: string
  streams: readonly string[]
  /** Per stream of the kind: the streams whose rows of the same property must be accepted first. */
  requires: Requires
  partitionBy: string | null
  /** Rows per submission at most. */
  maxRows: number
}

/**
 * Cuts the ready rows of one kind into submissions and holds them.
 *
 * A row is ready when it is pending, checked and valid, not gone, held by nothing, also not by the guard, not refused as it is, not yet tried as it is
 * in this run, and every row that it requires is accepted. Of one property only one submission of a kind is in flight
 * at a time, so two requests never write the same thing at once; a property's rows stay together as far as they fit.
 *
 * @returns the ids of the new submissions.
 */
export async function planKind(trx: Transaction<Schema>, options: PlanKindOptions): Promise<number[]> {
  const { runId, kind, streams, partitionBy, maxRows } = options
  const partition = partitionBy === null ? sql`''::text` : sql`coalesce(row.content ->> ${partitionBy}::text, '')`
  await sql`
    create temp table cut_row on commit drop as
    with ready as (
      select row.row_id, row.partner_id, ${partition} as partition
      from source_row row
      where row.stream = any(${streams}::text[])
        and row.accepted_hash is distinct from row.desired_hash
        and row.checked_hash = row.desired_hash
        and row.invalid_reason is null
        and row.held_by is null
        and row.gone_at is null
        and row.guard_run is null
        and row.refused_hash is distinct from row.desired_hash
        and not exists (
          select from submission_row tried
          join submission using (submission_id)
          where tried.row_id = row.row_id and submission.run_id = ${runId}
            and tried.sent_hash is not distinct from row.desired_hash)
        and not exists (
          select from source_row other
          where other.partner_id = row.partner_id and other.stream = any(${streams}::text[]) and other.held_by is not null)
        and not ${lacksRequirement(options.requires)}
    ),
    placed as (
      select row_id, partner_id, partition,
             rank() over (partition by partner_id order by partition) as partition_rank,
             row_number() over (partition by partner_id, partition order by row_id) as place
      from ready
    ),
    kept as (
      select row_id, partner_id, partition, count(*) over (partition by partition, partner_id) as size
      from placed
      where partition_rank = 1 and place <= ${Math.max(1, Math.floor(maxRows / 2))}
    )
    select row_id, partition,
           (count(*) over (partition by partition order by partner_id) - size)
             / (${maxRows} - max(size) over () + 1) as ordinal
    from kept`.execute(trx)
  await sql`analyze cut_row`.execute(trx)
  const { rows } = await sql<{ submission_id: number }>`
    with cut as materialized (
      select partition, ordinal, row_count, nextval(pg_get_serial_sequence('submission', 'submission_id')) as submission_id
      from (select partition, ordinal, count(*) as row_count from cut_row group by partition, ordinal order by 1, 2) counted
    ),
    planned as (
      insert into submission (submission_id, run_id, kind, partition, state, row_count)
      overriding system value
      select submission_id, ${runId}, ${kind}, partition, 'planned', row_count from cut
    ),
    linked as (
      insert into submission_row (submission_id, row_id)
      select submission_id, row_id from cut_row join cut using (partition, ordinal)
    ),
    held as (
      update source_row set held_by = cut.submission_id
      from cut_row join cut using (partition, ordinal)
      where source_row.row_id = cut_row.row_id
    )
    select submission_id from cut order by submission_id`.execute(trx)
  await sql`drop table cut_row`.execute(trx)
  return rows.map(({ submission_id }) => submission_id)
}
