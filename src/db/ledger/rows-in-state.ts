import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { heldRun } from '../guard/guard-plan.ts'
import { type MaybeWaits, parkedReason, waitingOn, waitsFor } from './parked-reason.ts'
import type { Requires } from './requirements.ts'
import {
  isAmongPending,
  newestAmongPending,
  passes,
  type RowFilter,
  type RowState,
  rowState,
  splitFilter,
} from './row-state.ts'
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

/** Rows in one state, newest first, with the reason in words that a person can act on. */
export async function rowsInState(
  db: Database,
  state: ListedState,
  requires: Requires,
  policies: readonly ResendPolicy[],
  filter: RowFilter,
  limit: number,
): Promise<ListedRow[]> {
  return (await pageOfRows(db, state, requires, policies, filter, limit, null, 'whole')).rows
}

/** The last row of a page: its moment as the database prints it, because no Date is as exact, and its number. */
export type RowPlace = { at: string; rowId: number }

/**
 * The same, a page at a time.
 * @param past where the page before ended; null: the first page.
 * @returns `next`: where this one ended; null if there is no further row.
 */
export async function pageOfRows(
  db: Database,
  state: ListedState,
  requires: Requires,
  policies: readonly ResendPolicy[],
  filter: RowFilter,
  limit: number,
  past: RowPlace | null,
  texts: Texts = 'short',
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
           to_jsonb(waits) as waits
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

/** The causes of rows in one state, those with the most rows first. */
export async function causesOfRows(
  db: Database,
  state: ListedState,
  requires: Requires,
  filter: RowFilter,
  limit: number,
  also: RawBuilder<boolean> = sql<boolean>`true`,
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
const told: Record<ListedState, { code: RawBuilder<unknown>; reason: RawBuilder<unknown>; at: RawBuilder<unknown> }> = {
  rejected: { code: sql`row.outcome_code`, reason: sql`row.outcome_reason`, at: sql`row.outcome_at` },
  unknown: { code: sql`row.outcome_code`, reason: sql`row.outcome_reason`, at: sql`row.outcome_at` },
  invalid: { code: sql`null::text`, reason: sql`row.invalid_reason`, at: sql`row.changed_at` },
  parked: {
    code: sql`'requires_' || waits.requirement_state`,
    reason: sql`concat_ws(' ', waits.required, waits.requirement_code, waits.requirement_reason)`,
    at: sql`row.changed_at`,
  },
}

/** The rows of one hotel that wait for the same. */
type ParkedGroup = {
  partner_id: string
  /** What they wait for and where it stands, in words that a person can act on. */
  reason: string
  code: string
  rows: number
  streams: string[]
  /** When the first of them last changed. */
  since: Date
}

type ParkedGroups = { groups: ParkedGroup[]; total: { rows: number; hotels: number; groups: number } }

type FoundGroup = Omit<ParkedGroup, 'reason'> & { waits: MaybeWaits; all_rows: number; all_groups: number }

/** Parked rows by hotel and by what they wait for, the most first, with the numbers of all of them. */
export async function parkedGroups(
  db: Database,
  requires: Requires,
  filter: RowFilter,
  limit: number,
): Promise<ParkedGroups> {
  const { rows } = await sql<FoundGroup & { all_hotels: number }>`
    with parked as materialized (
      select row.partner_id, row.stream, row.changed_at, to_jsonb(waits) as waits
      from ledger row
      left join lateral ${waitsFor(requires)} waits on true
      where ${isAmongPending('parked')}
        and ${rowState(requires)} = 'parked'
        and ${passes(filter, told.parked)}
    )
    select partner_id, waits, 'requires_' || (waits ->> 'requirement_state') as code, count(*) as rows,
           array_agg(distinct stream order by stream) as streams, min(changed_at) as since,
           sum(count(*)) over ()::bigint as all_rows, count(*) over () as all_groups,
           (select count(distinct partner_id) from parked) as all_hotels
    from parked
    group by partner_id, waits
    order by count(*) desc, partner_id collate "C", code
    limit ${limit}`.execute(db)
  const [first] = rows
  const total =
    first === undefined
      ? { rows: 0, hotels: 0, groups: 0 }
      : { rows: first.all_rows, hotels: first.all_hotels, groups: first.all_groups }
  const groups = rows.map(({ waits, all_rows: _rows, all_groups: _groups, all_hotels: _hotels, ...group }) => {
    const requirement = waitingOn(waits)
    return { ...group, reason: requirement === null ? '' : parkedReason(requirement, group.partner_id) }
  })
  return { groups, total }
}

/** A row that the service has, or may have, where the partner wants it no longer. */
export type DriftRow = {
  stream: string
  partner_id: string
  row_key: string
  content: Record<string, unknown>
  accepted_at: Date | null
  outcome: string | null
  gone_since: Date
  /** `gone`: the partner has it no longer; `remapped`: its hotel is another company now. */
  why: 'gone' | 'remapped'
  /** Which company holds it; null where its hotel is not mapped. */
  company_id: string | null
}

/** What is at the service and no longer at the partner, or at a company that its hotel was, newest first. */
export async function driftRows(db: Database, stream: string | null, limit: number, texts: Texts): Promise<DriftRow[]> {
  const { rows } = await sql<DriftRow>`
    select stream, partner_id, row_key, ${shownContent(sql`content`, texts)} as content, accepted_at, outcome,
      gone_since, why, company_id
    from drift
    where ${stream}::text is null or stream = ${stream}
    order by gone_since desc, stream, row_key
    limit ${limit}`.execute(db)
  return rows
}

export type RowNotAccepted = {
  stream: string
  partner_id: string
  row_key: string
  /** `invalid`: found wrong here and never sent; else the outcome. */
  state: 'invalid' | 'rejected' | 'unknown'
  code: string | null
  reason: string | null
  /** With its long texts cut. */
  content: Record<string, unknown>
  submission_id: number | null
  correlation_id: string | null
  at: Date | null
}

/**
 * Rows that are rejected, invalid or unknown as they stand, newest verdict first: what was said of an earlier content,
 * or of a row that waits for something else by now, is not why it is not accepted.
 */
export async function rowsNotAccepted(db: Database, requires: Requires, limit: number): Promise<RowNotAccepted[]> {
  const { rows } = await sql<RowNotAccepted>`
    with judged as (
      select row.*, ${rowState(requires)} as state
      from ledger row
      where ${isAmongPending()}
        and (row.invalid_reason is not null or row.refused_hash is not null or row.outcome in ('rejected', 'unknown'))
    )
    select stream, partner_id, row_key, judged.state,
           case when judged.state <> 'invalid' then outcome_code end as code,
           case when judged.state = 'invalid' then invalid_reason else outcome_reason end as reason,
           ${shownContent(sql`content`, 'short')} as content, outcome_submission as submission_id, correlation_id,
           case when judged.state = 'invalid' then changed_at else outcome_at end as at
    from judged
    left join submission on submission.submission_id = outcome_submission and judged.state <> 'invalid'
    where judged.state in ('invalid', 'rejected', 'unknown')
    order by at desc nulls last, row_id
    limit ${limit}`.execute(db)
  return rows
}
