import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { heldRun } from '../guard/guard-plan.ts'
import { type MaybeWaits, parkedReason, waitingOn, waitsFor } from './parked-reason.ts'
import type { Requires } from './requirements.ts'
import { passes, type RowFilter, splitFilter } from './row-filter.ts'
import { isAmongPending, newestAmongPending, type RowState, rowState } from './row-state.ts'
import { type PolicyWords, policyOf, type ResendPolicy } from './rows-to-retry.ts'
import { shownContent, shownText, type Texts } from './shown-texts.ts'
import { staysSuspended } from './suspended-hotels.ts'

/** The states that need a person, each with a verb of its own. */
export type ListedState = Extract<RowState, 'rejected' | 'invalid' | 'parked' | 'unknown'>

export type ListedRow = {
  stream: string
  partner_id: string
  row_key: string
  content: Record<string, unknown>
  code: string | null
  reason: string
  /** When the service said so; of a row that was never sent, when it last changed. */
  at: Date
  submission_id: number | null
  correlation_id: string | null
  task_status: string | null
  /** A retry was asked for: the next run sends the row again, unless its hotel is suspended. */
  retry_asked: boolean
  /** Rejected with its request as a whole, so that the next run sends it again by itself. */
  sent_again: boolean
  /** The run that the guard stopped: nothing goes out before somebody approves it. */
  held_run: number | null
  /** Its hotel is suspended: nothing of it goes out before somebody resumes it. */
  suspended: boolean
} & PolicyWords

type FoundRow = Omit<ListedRow, 'reason'> & { reason: string | null; waits: MaybeWaits; row_id: number; exact: string }

/** Which rows of a state are asked for. */
type RowsAsked = { requires: Requires; filter?: RowFilter; limit: number }

type ListAsked = RowsAsked & { policies?: readonly ResendPolicy[] }

/** Rows in one state, newest first, with the reason in words that a person can act on. */
export async function rowsInState(db: Database, state: ListedState, asked: ListAsked): Promise<ListedRow[]> {
  return (await pageOfRows(db, state, { ...asked, texts: 'whole' })).rows
}

/** The last row of a page: its moment as the database prints it, because no Date is as exact, and its number. */
export type RowPlace = { at: string; rowId: number }

type PageAsked = ListAsked & {
  /** Where the page before ended; null: the first page. */
  past?: RowPlace | null
  /** By default long texts are cut. */
  texts?: Texts
}

/**
 * The same, a page at a time.
 * @returns `next`: where this one ended; null if there is no further row.
 */
export async function pageOfRows(
  db: Database,
  state: ListedState,
  { requires, policies = [], filter = {}, limit, past = null, texts = 'short' }: PageAsked,
): Promise<{ rows: ListedRow[]; next: RowPlace | null }> {
  const { code, reason, at } = told[state]
  const further =
    past === null
      ? sql<boolean>`true`
      : sql<boolean>`(
          ${at} < ${past.at}::timestamptz or (${at} = ${past.at}::timestamptz and row.row_id > ${past.rowId}))`
  const isMeant = sql`${rowState(requires)} = ${state}`
  const { ofOutcome, ofRow } = splitFilter(filter)
  const ofNewest = sql<boolean>`${passes(ofOutcome, told[state])} and ${further}`
  // One hotel's rows are found by its id, and are few.
  const { among, where } =
    (state === 'rejected' || state === 'unknown') && filter.partnerId === undefined
      ? {
          among: sql`(select row.* from ${newestAmongPending(state, ofNewest)}
                      where ${isMeant} and ${passes(ofRow, told[state])}
                      order by newest.outcome_at desc, newest.row_id limit ${limit})`,
          where: sql`true`,
        }
      : {
          among: sql`ledger`,
          where: sql`${isAmongPending(state)} and ${isMeant} and ${passes(filter, told[state])} and ${further}`,
        }
  const { rows } = await sql<FoundRow>`
    select row.row_id, ${at}::text as exact, row.stream, row.partner_id, row.row_key,
      ${shownContent(sql`row.content`, texts)} as content,
      ${code} as code,
      ${shownText(reason, texts)} as reason, ${at} as at,
           submission.submission_id, submission.correlation_id, submission.task_status,
           row.retry_action is not null as retry_asked, row.refused_hash is null as sent_again,
           coalesce(row.guard_run, ${heldRun(requires)}) as held_run,
           ${staysSuspended} as suspended, policy_after, policy_sent, policy_times,
           case when waits.required is not null then ${shownContent(sql`to_jsonb(waits)`, texts)} end as waits
    from ${among} row
    left join submission on submission.submission_id = row.outcome_submission and ${state} in ('rejected', 'unknown')
    left join lateral ${policyOf(policies)} policy on ${state} = 'rejected' and row.refused_hash = row.desired_hash
    left join lateral ${waitsFor(requires)} waits on ${state} = 'parked'
    where ${where}
    order by at desc, row.row_id
    limit ${limit}`.execute(db)
  const last = rows.length < limit ? undefined : rows.at(-1)
  const shown = rows.map(({ waits, row_id: _, exact: __, ...row }) => {
    const requirement = waitingOn(waits)
    if (requirement !== null) return { ...row, reason: parkedReason(requirement, row.partner_id) }
    return { ...row, reason: row.reason ?? 'the service gives no reason' }
  })
  return { rows: shown, next: last === undefined ? null : { at: last.exact, rowId: last.row_id } }
}

/** Rows in one state that have the same cause. */
type RowCause = {
  stream: string
  code: string | null
  reason: string | null
  rows: number
  hotels: number
  first_at: Date
  last_at: Date
}

/**
 * The causes of rows in one state, those with the most rows first.
 * @param also what must hold of a `row` besides.
 */
export async function causesOfRows(
  db: Database,
  state: ListedState,
  { requires, filter = {}, limit, also = sql<boolean>`true` }: RowsAsked & { also?: RawBuilder<boolean> },
): Promise<RowCause[]> {
  const { code, reason, at } = told[state]
  const { rows } = await sql<RowCause>`
    select row.stream, ${code} as code, ${reason} as reason, count(*) as rows, count(distinct row.partner_id) as hotels,
           min(${at}) as first_at, max(${at}) as last_at
    from ledger row
    left join lateral ${waitsFor(requires)} waits on ${state} = 'parked'
    where ${isAmongPending(state)} and ${rowState(requires)} = ${state} and ${passes(filter, told[state])}
      and ${also}
    group by 1, 2, 3
    order by rows desc, 1, 2, 3
    limit ${limit}`.execute(db)
  return rows
}

/** Where each state's code, words and moment stand. */
export const told: Record<
  ListedState,
  { code: RawBuilder<unknown>; reason: RawBuilder<unknown>; at: RawBuilder<unknown> }
> = {
  rejected: { code: sql`row.outcome_code`, reason: sql`row.outcome_reason`, at: sql`row.outcome_at` },
  unknown: { code: sql`row.outcome_code`, reason: sql`row.outcome_reason`, at: sql`row.outcome_at` },
  invalid: { code: sql`null::text`, reason: sql`row.invalid_reason`, at: sql`row.changed_at` },
  parked: {
    code: sql`'requires_' || waits.requirement_state`,
    reason: sql`concat_ws(' ', waits.required, waits.requirement_code, waits.requirement_reason)`,
    at: sql`row.changed_at`,
  },
}
