import { type RawBuilder, sql } from 'kysely'

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
 * rejected has written nothing: it is silent, unless it is in flight. Requests are forgotten one day, and that nobody
 * knows what became of a row stands with the row.
 * @param also what must hold besides of a settled row.
 */
export function rowStanding(also: RawBuilder<boolean> = sql<boolean>`true`): RawBuilder<RowStanding> {
  const [at, by, moment] = [sql`row.accepted_at`, sql`row.outcome_submission`, sql`search.planned_at`]
  const acceptedSince = isSince(at, by, moment, sql`search.submission_id`)
  return sql<RowStanding>`case
    when row.held_by is not null then 'unsettled'
    when row.gone_at is not null then 'silent'
    when row.pending then
      case when row.accepted_hash is null and row.accepted_at is null and row.outcome is distinct from 'unknown'
             and not exists (
             select from submission_row carried join submission carrier using (submission_id)
             where carried.row_id = row.row_id
               -- A request that was given up before anything of it left has neither.
               and coalesce(carried.outcome, carrier.rest_outcome,
                            case when carrier.attempted_at is not null then 'unknown' end) <> 'rejected') then 'silent'
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
