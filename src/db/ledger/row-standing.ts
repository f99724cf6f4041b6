import { type RawBuilder, sql } from 'kysely'
import { codeTold, isDoubtfulRejection, outcomeTold } from './settle-outcomes.ts'
import { isSuspended } from './suspended-hotels.ts'

/**
 * How a row stands to what a search shows. `settled`: what it says was accepted before the search was planned, and
 * nothing has touched it since, so it must be there. `unsettled`: what it wrote is not what it says, or it may have
 * written since, so nobody can tell whose value is there. `silent`: it writes nothing, so whatever writes the same
 * thing is judged without it.
 */
export type RowStanding = 'settled' | 'unsettled' | 'silent'

/**
 * The standing of a row of the view `ledger`, which the query must call `row`; the submission of the search it must
 * call `search`. One that is gone at the partner is never sent again, and one that no request has left with but to be
 * rejected has written nothing: it is silent, unless it is in flight, or may have been taken all the same. Only
 * requests to the destination in use tell, and since the hotel became the company that it is: what left before was
 * written elsewhere. Requests are forgotten one day, and that nobody knows what became of a row stands with the row.
 * One of a stream that no run reads is as one that is gone, and so is one of a suspended hotel, for which no run would
 * send it again.
 * @param carried the streams that runs read and send.
 * @param also what must hold besides of a settled row.
 */
export function rowStanding(
  carried: readonly string[],
  also: RawBuilder<boolean> = sql<boolean>`true`,
): RawBuilder<RowStanding> {
  const [at, by, moment] = [sql`row.accepted_at`, sql`row.outcome_submission`, sql`search.planned_at`]
  const acceptedSince = isSince(at, by, moment, sql`search.submission_id`)
  const toldCode = sql`${codeTold('carried', 'carrier')}`
  return sql<RowStanding>`case
    when row.held_by is not null then 'unsettled'
    when row.gone_at is not null or row.stream <> all(${carried}::text[]) or ${isSuspended()} then 'silent'
    when row.pending then
      case when row.accepted_hash is null and row.accepted_at is null and row.perhaps_taken_at is null
             and not exists (
             select from submission_row carried join submission carrier using (submission_id) join run using (run_id)
             where carried.row_id = row.row_id and run.destination_id = destination_in_use()
               and (carrier.kind = 'company_mappings' or not exists (
                 select from mapping_change moved
                 where moved.partner_id = row.partner_id and moved.submission_id > carrier.submission_id))
               -- A request that was given up and never left has neither, however often that was attempted.
               and (coalesce(${outcomeTold('carried', 'carrier')},
                             case when carrier.attempted_at is not null and carrier.state <> 'abandoned'
                                  then 'unknown' end) <> 'rejected'
                 or ${isDoubtfulRejection(toldCode, sql`carrier.repeats`)})) then 'silent'
           else 'unsettled' end
    -- What was accepted after the search was planned need not be on its pages.
    when row.accepted_at is null or ${acceptedSince} then 'unsettled'
    when ${also} then 'settled'
    else 'unsettled' end`
}

/**
 * Whether what a submission brought at a time came after a search was planned or judged. By their order first: no
 * submission is planned after the search and ends before it. Of a time that lies ahead, while the other does not, our
 * database's clock was put back since: it was before the search, unless nobody knows which submission it came by.
 * @param at when it came.
 * @param by the submission that brought it; null: nobody knows any more.
 * @param moment when the search was planned, or compared.
 * @param search the submission of the search.
 */
export function isSince(
  at: RawBuilder<unknown>,
  by: RawBuilder<unknown>,
  moment: RawBuilder<unknown>,
  search: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${by} > ${search} or ${at} > ${moment}
    and (${by} is null or ${at} <= clock_timestamp() or ${moment} > clock_timestamp()), false)`
}
