import { type RawBuilder, sql } from 'kysely'
import { heldRun } from '../guard/guard-plan.ts'
import { keyDeniedSince } from '../service-key/service-key.ts'

/** Where a row stands, in the words of docs/glossary.md. */
const rowStates = [
  'gone',
  'accepted',
  'in_flight',
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
 * planned already.
 */
export function rowState(requires: Requires): RawBuilder<RowState> {
  return sql<RowState>`case
    when row.gone_at is not null then 'gone'
    when not row.pending then 'accepted'
    when row.held_by is not null then
      case when ${keyDeniedSince} is not null
                and (select state = 'planned' from submission where submission_id = row.held_by) then 'parked'
           else 'in_flight' end
    when row.invalid_reason is not null then 'invalid'
    when row.refused_hash = row.desired_hash then 'rejected'
    when row.guard_run is not null then 'held'
    when ${lacksRequirement(requires)} then 'parked'
    -- The guard stops a run as a whole.
    when ${heldRun} is not null then 'held'
    when ${keyDeniedSince} is not null then 'parked'
    when row.outcome = 'unknown' then 'unknown'
    -- The request as a whole was refused, and the row has not changed since.
    when row.outcome = 'rejected' and row.refused_hash is null and row.changed_at < row.outcome_at then 'rejected'
    else 'pending' end`
}

/** Per stream: the streams whose rows of the same property must be accepted before a row of it is sent. */
export type Requires = Readonly<Record<string, readonly string[]>>

/**
 * What streams require as a table `requirement (stream, required)`, to be read from in a query. As a list of values: a
 * function that unpacks a document is called for each row that is looked at.
 */
export function requirementTable(requires: Requires): RawBuilder<unknown> {
  const pairs = Object.entries(requires).flatMap(([stream, names]) =>
    names.map((required) => sql`(${stream}::text, ${required}::text)`),
  )
  if (pairs.length === 0) return sql`(select null::text, null::text where false) as requirement(stream, required)`
  return sql`(values ${sql.join(pairs)}) as requirement(stream, required)`
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
