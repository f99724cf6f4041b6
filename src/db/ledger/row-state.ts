import { type RawBuilder, sql } from 'kysely'
import { askBoth, type Database, type Hurry } from '../database.ts'
import { heldRun } from '../guard/guard-plan.ts'
import { keyDeniedSince } from '../service-key/service-key.ts'
import { behindRequest } from './overdue-request.ts'
import { isConfigured, type Requires, requirementTable } from './requirements.ts'
import { codeTold, isDoubtfulRejection, outcomeTold } from './settle-outcomes.ts'
import { isParkedAsSuspended, isSuspended } from './suspended-hotels.ts'

/** Where a row stands, in the words of docs/glossary.md. */
const rowStates = [
  'gone',
  'accepted',
  'in_flight',
  'unconfigured',
  'invalid',
  'rejected',
  'held',
  'parked',
  'unknown',
  'pending',
] as const
export type RowState = (typeof rowStates)[number]

/**
 * Where a row of the view `ledger`, which the query must call `row`, stands. One state each, so that counts add up:
 * what keeps a row from being sent comes before what it waits for. `unknown` and `pending` go out in the next run.
 * `gone` rows carry a tombstone, and `held` ones wait for approval: the order is that of the sums of a report
 * (report-rows.ts). While the service does not accept the key, whatever could be sent otherwise is parked, also what is
 * planned already; and so is what waits behind an overdue request, or is of a hotel that people have suspended. What is
 * pending of a stream that is not in the configuration is `unconfigured`, whatever else is wrong with it: no run sends
 * it, and nobody need do anything.
 */
export function rowState(requires: Requires): RawBuilder<RowState> {
  return sql<RowState>`case
    when row.gone_at is not null then 'gone'
    when not row.pending then 'accepted'
    when row.held_by is not null then
      case when ${keyDeniedSince} is not null
                and (select state = 'planned' from submission where submission_id = row.held_by) then 'parked'
           else 'in_flight' end
    when not ${isConfigured(requires)} then 'unconfigured'
    when row.invalid_reason is not null then 'invalid'
    when row.refused_hash = row.desired_hash then 'rejected'
    when row.guard_run is not null then 'held'
    when ${isSuspended()} or ${lacksRequirement(requires)} then 'parked'
    -- The guard stops a run as a whole.
    when ${heldRun(requires)} is not null then 'held'
    when ${keyDeniedSince} is not null or ${behindRequest} is not null then 'parked'
    when row.outcome = 'unknown' then 'unknown'
    -- The request as a whole was refused, and the row has not changed since.
    when row.outcome = 'rejected' and row.refused_hash is null and row.changed_at < row.outcome_at then 'rejected'
    else 'pending' end`
}

/**
 * Whether a row, which the query must call `row`, lacks something that its stream requires: what is required is there,
 * and all of it is accepted as it stands. What is gone at the partner and was never accepted counts as not there.
 */
export function lacksRequirement(requires: Requires): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from ${requirementTable(requires)}
    where requirement.stream = row.stream
      and not exists (
        select from ledger needed
        where needed.stream = requirement.required and needed.partner_id = row.partner_id
          and (needed.gone_at is null or not needed.pending)
        having count(*) > 0 and bool_and(not needed.pending)))`
}

/** What a pending row in such a state has, which its acceptance alone tells: more costs more to find out. */
const marks = {
  rejected: sql`(refused_hash is not null or outcome = 'rejected')`,
  invalid: sql`invalid_reason is not null`,
  unknown: sql`outcome = 'unknown'`,
  parked: sql`true`,
} as const

/**
 * Whether a row of the view `ledger`, which the query must call `row`, is pending, and may be in a state, for a query
 * of few rows in a large ledger. The planner takes nearly every row for pending, whatever it knows of the table, and
 * would read all of them; an array it takes for short, and looks its rows up.
 */
export function isAmongPending(state: keyof typeof marks | null = null): RawBuilder<boolean> {
  return sql<boolean>`row.row_id = any(array(
    select row_id from acceptance where accepted_hash is distinct from wanted_hash
      and ${state === null ? sql`true` : marks[state]}))`
}

/**
 * Rows of the view `ledger` as `row`, among them all that are pending and may be in a state which an outcome gave them,
 * with `newest`, the place of each. They come newest first, one after the other, so that a query with a limit judges no
 * more of them than it shows: of a million rejected rows only the outcomes are read, and sorted.
 * @param narrowed which of them, as far as the outcome of a `row` says.
 */
export function newestAmongPending(state: 'rejected' | 'unknown', narrowed: RawBuilder<boolean>): RawBuilder<unknown> {
  return sql`(
    select row_id, outcome_at from acceptance row
    where accepted_hash is distinct from wanted_hash and ${marks[state]} and ${narrowed}
    order by outcome_at desc, row_id) newest
    cross join lateral (select ledger.* from ledger where ledger.row_id = newest.row_id offset 0) row`
}

/**
 * Whether a row is still unmarked as it is updated. What waited for another statement that marks sees in the view
 * `ledger` how the row was before that one.
 */
export const isUnmarked = sql<boolean>`acceptance.retry_action is null`

/**
 * Whether a row, which the query must call `row`, is of a stream that runs send. What is marked or made ready of any
 * other goes out with no run.
 * @param carried the streams that runs send.
 */
export const isCarried = (carried: readonly string[]): RawBuilder<boolean> =>
  sql<boolean>`(row.stream = any(${carried}::text[]))`

/** The entries that have a value: of a filter, what was asked for. */
export function given<T extends object>(all: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as never
}

/** Which rows a person asks about; what is left out does not matter. */
export type RowFilter = {
  stream?: string
  partnerId?: string
  /** A part of the code or of the words that stand with it, in any case of letters. */
  reason?: string
  /** Rows whose state is from this moment or later. */
  since?: Date
}

/**
 * Whether a row, which the query must call `row`, passes a filter; the query says what its code, words and moment are.
 */
export function passes(
  filter: RowFilter,
  told: { code: RawBuilder<unknown>; reason: RawBuilder<unknown>; at: RawBuilder<unknown> },
): RawBuilder<boolean> {
  const { stream, partnerId, reason, since } = filter
  const conditions = [
    stream === undefined ? null : sql`row.stream = ${stream}`,
    partnerId === undefined ? null : sql`row.partner_id = ${partnerId}`,
    reason === undefined
      ? null
      : sql`position(lower(${reason}) in lower(concat_ws(' ', ${told.code}, ${told.reason}))) > 0`,
    since === undefined ? null : sql`${told.at} >= ${since}`,
  ].filter((condition) => condition !== null)
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** A filter in two: what the outcome of a row says, with its partner id, and what only the row itself says. */
export function splitFilter({ stream, ...ofOutcome }: RowFilter): { ofOutcome: RowFilter; ofRow: RowFilter } {
  return { ofOutcome, ofRow: stream === undefined ? {} : { stream } }
}

type StatusCounts = {
  stream: string
  rows: number
  accepted: number
  pending: number
  invalid: number
  parked: number
  /** Of the parked rows: those whose hotel people have suspended. */
  suspended: number
  rejected: number
  /** Nobody can say what became of them; the next run sends them again. */
  unknown: number
  in_flight: number
  /** Held by the guard until a person approves, also rows that are accepted and would get their tombstone. */
  held: number
  /** Neither accepted nor pending: no run sends them, because the stream is not in the configuration. */
  unconfigured: number
  /** No longer at the partner; not counted among the rows. */
  gone: number
  oldest_pending: Date | null
}

/**
 * The ledger at a glance: how many rows of each stream are accepted, and where the others stand, as the verbs that list
 * them say.
 */
export async function statusCounts(db: Database, requires: Requires, hurry?: Hurry): Promise<StatusCounts[]> {
  // Most rows of a large ledger are accepted, and only counted, by an index; the state is asked of the others alone.
  const [counted, others] = await askBoth(db, countRows, async (same) => await countOthers(same, requires), hurry)
  const byStream = new Map(others.map((other) => [other.stream, other]))
  return counted.map(({ stream, rows, gone }) => {
    const other = byStream.get(stream) ?? { ...nothingElse, stream }
    const kept = rows - gone
    return { ...other, rows: kept, accepted: kept - other.pending - other.unconfigured, gone }
  })
}

const nothingElse: OtherCounts = {
  stream: '',
  pending: 0,
  invalid: 0,
  parked: 0,
  suspended: 0,
  rejected: 0,
  unknown: 0,
  in_flight: 0,
  held: 0,
  unconfigured: 0,
  oldest_pending: null,
}

async function countRows(db: Database): Promise<Pick<StatusCounts, 'stream' | 'rows' | 'gone'>[]> {
  const { rows } = await sql<Pick<StatusCounts, 'stream' | 'rows' | 'gone'>>`
    select stream, rows, coalesce(gone, 0) as gone
    from (select stream, count(*) as rows from source_row group by stream) counted
    left join (
      select stream, count(*) as gone from source_row where gone_at is not null group by stream
    ) left_out using (stream)
    order by stream`.execute(db)
  return rows
}

type OtherCounts = Omit<StatusCounts, 'rows' | 'accepted' | 'gone'>

async function countOthers(db: Database, requires: Requires): Promise<OtherCounts[]> {
  const { rows } = await sql<OtherCounts>`
    select stream,
           count(*) filter (where differs) as pending,
           count(*) filter (where state = 'invalid') as invalid,
           count(*) filter (where state = 'parked') as parked,
           count(*) filter (where suspended) as suspended,
           count(*) filter (where state = 'rejected') as rejected,
           count(*) filter (where state = 'unknown') as unknown,
           count(*) filter (where held_by is not null and state <> 'parked') as in_flight,
           count(*) filter (
             where state = 'held' or (state = 'accepted' and guard_change = 'gone' and ${isConfigured(requires)})
           ) as held,
           count(*) filter (where state = 'unconfigured') as unconfigured,
           min(changed_at) filter (where differs and not kept_back and ${isConfigured(requires)}) as oldest_pending
    from ledger row
    -- Not merged into each count, which would find out the state once for each.
    cross join lateral (select ${rowState(requires)} as state offset 0) stated
    cross join lateral (
      select row.pending and gone_at is null and state <> 'unconfigured' as differs,
             ${isParkedAsSuspended(sql`state`)} as suspended, ${isSuspended()} as kept_back offset 0) differing
    where row.row_id = any(
      array(select row_id from acceptance where accepted_hash is distinct from wanted_hash)
      || array(select row_id from submission_row where submission_id in (select submission_id from held_property))
      || array(select row_id from source_row where guard_run is not null))
    group by stream`.execute(db)
  return rows
}

/**
 * When the oldest change was seen that the service has not accepted, whatever it waits for; null: all are accepted.
 * What no run sends, because its stream is not in the configuration or its hotel is suspended, does not count: it would
 * be the oldest for ever.
 * Looks only at rows that are pending, by their index: as an array, which the planner takes for short. It takes nearly
 * every row for pending, and a join would read all of a large ledger.
 */
export async function oldestUnaccepted(db: Database, requires: Requires): Promise<Date | null> {
  const { rows } = await sql<{ oldest: Date | null }>`
    select min(changed_at) as oldest from source_row row
    where gone_at is null and ${isConfigured(requires)} and not ${isSuspended()}
      and row_id = any(array(select row_id from acceptance where accepted_hash is distinct from wanted_hash))`.execute(
    db,
  )
  return rows[0]?.oldest ?? null
}

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
