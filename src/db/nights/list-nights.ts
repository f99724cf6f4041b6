import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { isAmongPending } from '../ledger/pending-rows.ts'
import type { Requires } from '../ledger/requirement.ts'
import { type RowState, rowState } from '../ledger/row-state.ts'
import type { Run } from '../tables/run-tables.ts'

/** A run with the sums of its report; null where it has none. */
type Night = Pick<
  Run,
  'run_id' | 'job' | 'trigger' | 'state' | 'step' | 'verdict' | 'failure' | 'started_at' | 'finished_at'
> & {
  duration_ms: number | null
  read: number | null
  sent: number | null
  accepted: number | null
  rejected: number | null
  invalid: number | null
  parked: number | null
  remarks: number | null
}

/** The newest runs of a job that were not skipped, newest first, with what came of them. */
export async function listNights(db: Database, job: string, limit: number, before?: number): Promise<Night[]> {
  const { rows } = await sql<Night>`
    select run_id, job, trigger, state, step, verdict, failure, started_at, finished_at,
           (extract(epoch from finished_at - started_at) * 1000)::float8 as duration_ms,
           read, sent, accepted, rejected, invalid, parked, jsonb_array_length(report -> 'remarks') as remarks
    from (
      select * from run
      where job = ${job} and state <> 'skipped' and (${before ?? null}::bigint is null or run_id < ${before ?? null})
      order by run_id desc limit ${limit}
    ) newest
    left join lateral (
      select sum((stream ->> 'read')::bigint)::bigint as read, sum((stream ->> 'sent')::bigint)::bigint as sent,
             sum((stream ->> 'confirmed')::bigint + (stream ->> 'inferred')::bigint)::bigint as accepted,
             sum((stream ->> 'rejected')::bigint)::bigint as rejected,
             sum((stream ->> 'invalid')::bigint)::bigint as invalid,
             sum((stream ->> 'parked')::bigint)::bigint as parked
      from jsonb_array_elements(report -> 'streams') stream
    ) summed on report is not null
    order by run_id desc`.execute(db)
  return rows
}

/** How long the newest runs that ended well or partly took, newest first. Milliseconds. */
export async function durationsOf(db: Database, job: string, limit: number): Promise<number[]> {
  const { rows } = await sql<{ duration_ms: number }>`
    select (extract(epoch from finished_at - started_at) * 1000)::float8 as duration_ms
    from run where job = ${job} and verdict in ('succeeded', 'partial') and finished_at is not null
    order by run_id desc limit ${limit}`.execute(db)
  return rows.map(({ duration_ms }) => duration_ms)
}

/** How many rows are in one state, and of how many hotels. */
type Need = { state: RowState; rows: number; hotels: number }

/** What is pending now, by state. */
export async function needsOf(db: Database, requires: Requires): Promise<Need[]> {
  const { rows } = await sql<Need>`
    select state, count(*) as rows, count(distinct partner_id) as hotels
    from (
      select row.partner_id, ${rowState(requires)} as state from ledger row where ${isAmongPending()} offset 0
    ) stated
    where state not in ('accepted', 'gone')
    group by state order by rows desc, state limit 20`.execute(db)
  return rows
}

/** How a stream of a run that is under way gets on. */
type StreamStanding = {
  stream: string
  read: number
  changed: number
  pending: number | null
  extracted_at: Date
}

/** The streams that a run has read. */
export async function streamsOfRun(db: Database, runId: number, limit: number): Promise<StreamStanding[]> {
  const { rows } = await sql<StreamStanding>`
    select stream, read, changed, pending, extracted_at from run_stream
    where run_id = ${runId} order by extracted_at, stream limit ${limit}`.execute(db)
  return rows
}
