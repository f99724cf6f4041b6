import { type RawBuilder, sql } from 'kysely'
import { isUnfinished } from '../tables/submission-tables.ts'

/** Streams that travel in one kind of request: what is in flight of one keeps a hotel's rows of the other back. */
const together = [
  ['framework_answers', 'omissions'],
  ['calculator_inputs', 'calculator_settings'],
] as const

const pairs = sql.join(together.flatMap(([one, other]) => [sql`(${one}, ${other})`, sql`(${other}, ${one})`]))

/** The overdue requests, as an array. It depends on no row, so that a query asks it once; as a rule there are none. */
const overdueRequests: RawBuilder<number[]> = sql<number[]>`array(
  select submission_id from submission where overdue_since is not null and ${isUnfinished})`

/**
 * The first overdue request that keeps a row, which the query must call `row`, from being sent: it carries rows of the
 * same property, or of another that is its company, and of a stream that travels in the same kind of request. Of those
 * one request at a time is in flight (plan-kind.ts), and no run waits for this one. Null: there is none.
 */
export const behindRequest: RawBuilder<number | null> = sql<number | null>`(
  case when cardinality(${overdueRequests}) > 0 then (
    select min(held.submission_id) from held_property held
    where held.submission_id = any(${overdueRequests})
      and (held.stream = row.stream or (held.stream, row.stream) in (${pairs}))
      -- An array is looked up by the key of the table.
      and held.partner_id = any(array(
        select row.partner_id
        union all
        select twin.partner_id from mapping join mapping twin on twin.company_id = mapping.company_id
        where mapping.partner_id = row.partner_id))) end)`

/** What keeps a row, called `row`, behind an overdue request, as a requirement of it (parked-reason.ts). */
export const overdueRequirement: RawBuilder<unknown> = sql`(
  select 'submission' as required, 'overdue' as requirement_state, null::text as requirement_code,
         submission_id::text as requirement_reason, submission_id as requirement_held_by,
         null::bigint as requirement_guard_run, null::timestamptz as requirement_since
  from (select ${behindRequest} as submission_id) behind where submission_id is not null)`
