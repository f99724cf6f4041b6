import { type RawBuilder, sql } from 'kysely'
import { type Database, type Listed, listed } from '../database.ts'
import { heldRun } from '../guard/guard-plan.ts'
import { acceptedBy } from '../ledger/found-otherwise.ts'
import { type MaybeWaits, parkedReason, waitingOn, waitsFor } from '../ledger/parked-reason.ts'
import { isConfigured, type Requires } from '../ledger/requirements.ts'
import { type RowState, rowState } from '../ledger/row-state.ts'
import { type PolicyWords, policyOf, type ResendPolicy } from '../ledger/rows-to-retry.ts'
import { outcomeTold } from '../ledger/settle-outcomes.ts'
import { shownContent, shownText } from '../ledger/shown-texts.ts'
import { otherDestination } from '../runs/newest-runs.ts'
import type { GuardChange, OutcomeName } from '../tables/row-tables.ts'
import type { SubmissionState } from '../tables/submission-tables.ts'

/** What a row said before, and until when. */
type PastContent = { until: string; content: Record<string, unknown>; was_accepted: boolean }

export type TracedRow = {
  stream: string
  row_key: string
  content: Record<string, unknown>
  state: RowState
  /** How certain the last outcome is; of an accepted row, that of its acceptance. Null where none is known. */
  outcome: OutcomeName | null
  code: string | null
  reason: string | null
  /** Of an accepted row, what it was accepted by; else the submission that holds it, or that its outcome is from. */
  submission_id: number | null
  first_seen_at: Date
  changed_at: Date
  accepted_at: Date | null
  outcome_at: Date | null
  /** Since when the partner has it no longer. */
  gone_at: Date | null
  /** The run whose guard holds the row, and what it holds; null where it holds the run for other rows. */
  held_run: number | null
  guard_change: GuardChange | null
  retry_asked_by: string | null
  retry_asked_at: Date | null
  /** Oldest first; the newest of them if a limit is asked for. */
  past: PastContent[]
} & PolicyWords

type FoundRow = TracedRow & { waits: MaybeWaits }

/** What one row said before, at most, where a limit is asked for. */
const pastListed = 50

/**
 * The rows of one hotel with their state, the reason for it, and what they said before.
 * @param limit null: all; else so many at most, those first that are not accepted, and long texts cut.
 */
export async function traceRows(
  db: Database,
  partnerId: string,
  requires: Requires,
  policies: readonly ResendPolicy[],
  limit: number | null = null,
): Promise<TracedRow[]> {
  const texts = limit === null ? 'whole' : 'short'
  const shown = (content: RawBuilder<unknown>) => shownContent(content, texts)
  const { rows } = await sql<FoundRow>`
    select stated.stream, stated.row_key, ${shown(sql`stated.content`)} as content, stated.state,
           case when state = 'accepted' then taken.outcome else stated.outcome end as outcome,
           case when state in ('rejected', 'unknown') or (state <> 'accepted' and stated.outcome is null)
                  or (state = 'unconfigured' and invalid_reason is null)
             then outcome_code end as code,
           ${shownText(
             sql`(case when state in ('invalid', 'unconfigured') and invalid_reason is not null then invalid_reason
                       when state = 'unconfigured' then outcome_reason
                       when state in ('rejected', 'unknown') or (state <> 'accepted' and stated.outcome is null)
                         then outcome_reason end)`,
             texts,
           )} as reason,
           case when state = 'accepted' then taken.submission_id
                else coalesce(held_by, outcome_submission) end as submission_id,
           first_seen_at, changed_at, accepted_at, outcome_at, gone_at,
           -- What the guard holds of a stream that is not in the configuration waits for nobody.
           case when ${isConfigured(requires, sql`stated.stream`)} then guard_change end as guard_change,
           case when ${isConfigured(requires, sql`stated.stream`)}
             then coalesce(guard_run, case when state = 'held' then ${heldRun(requires)} end) end as held_run,
           action.acted_by as retry_asked_by, action.acted_at as retry_asked_at,
           case when stated.waits ->> 'required' is not null then ${shown(sql`stated.waits`)} end as waits, past.past,
           case when state = 'rejected' then policy_after end as policy_after, policy_sent, policy_times
    from (
      select row.*, ${rowState(requires)} as state, to_jsonb(waits) as waits, policy.*
      from ledger row
      left join lateral ${policyOf(policies)} policy on row.refused_hash = row.desired_hash
      left join lateral ${waitsFor(requires)} waits on true
      where row.partner_id = ${partnerId}
    ) stated
    left join action on action.action_id = stated.retry_action
    left join lateral ${acceptedBy(sql`stated`)} taken on state = 'accepted'
    cross join lateral (
      select coalesce(jsonb_agg(jsonb_build_object(
               'until', row_change.changed_at, 'content', ${shown(sql`content_before`)},
               'was_accepted', hash_before = stated.accepted_hash) order by row_change.changed_at), '[]') as past
      from (
        select * from row_change where row_change.row_id = stated.row_id
        order by changed_at desc limit ${limit === null ? null : pastListed}
      ) row_change
    ) past
    order by ${limit !== null} and stated.state in ('accepted', 'gone'), stated.stream, stated.row_id
    limit ${limit}`.execute(db)
  return rows.map(({ waits, ...row }) => {
    const requirement = row.state === 'parked' ? waitingOn(waits) : null
    if (requirement === null) return row
    return { ...row, code: `requires_${requirement.requirement_state}`, reason: parkedReason(requirement, partnerId) }
  })
}

export type TracedSubmission = {
  submission_id: number
  run_id: number
  kind: string
  state: SubmissionState
  correlation_id: string | null
  task_status: string | null
  /** The name of the destination that it went to; null: the one in use. */
  destination: string | null
  /** Of this hotel; the request may have carried others. */
  rows: number
  confirmed: number
  inferred: number
  rejected: number
  unknown: number
  attempts: number
  /** POSTs made again because an answer was lost. */
  repeats: number
  /** What the service said that matches no row of the request, no matter whose: how much, and what names this hotel. */
  unmatched: number
  unmatched_here: Readonly<Record<string, string | number>>[]
  /** The request that this one is a part of. */
  parent_id: number | null
  error_code: string | null
  error_message: string | null
  planned_at: Date
  attempted_at: Date | null
  accepted_at: Date | null
  terminal_at: Date | null
  settled_at: Date | null
  /** Submissions of the same run by which what the request's rows require was accepted, for this hotel. */
  released_by: number[]
}

/**
 * The submissions that carried a row of one hotel, in the order in which they were planned.
 * @param limit null: all; else the newest.
 */
export async function traceSubmissions(
  db: Database,
  partnerId: string,
  limit: number | null = null,
): Promise<Listed<TracedSubmission>> {
  const { rows } = await sql<TracedSubmission & { carrier: number; found: number }>`
    select count(*) over () as found, submission_id, run_id, kind, submission.state, correlation_id, task_status,
           ${otherDestination} as destination, carried.*,
      attempts, repeats,
           error_code, error_message, planned_at, attempted_at, submission.accepted_at, terminal_at, settled_at,
           -- Of those that released rows of the request, the ones that carried a row of this hotel.
           coalesce((
             select jsonb_agg(release.released_by order by release.released_by) from submission_release release
             where release.submission_id = submission.submission_id and exists (
               select from submission_row sent join source_row using (row_id)
               where sent.submission_id = release.released_by and source_row.partner_id = ${partnerId})), '[]')
                 as released_by,
           unmatched_count as unmatched,
           coalesce(jsonb_path_query_array(unmatched, '$[*] ? (@.partner_id == $id || @.company_id == $company)',
             jsonb_build_object('id', ${partnerId}::text, 'company',
               (select company_id::text from mapping where partner_id = ${partnerId}))), '[]') as unmatched_here,
           parent_id
    from (
      select carrier, count(*) as rows,
             count(*) filter (where outcome = 'confirmed') as confirmed,
             count(*) filter (where outcome = 'inferred') as inferred,
             count(*) filter (where outcome = 'rejected') as rejected,
             count(*) filter (where outcome = 'unknown') as unknown
      from (
        select submission_id as carrier, ${outcomeTold('sent', 'submission')} as outcome
        from source_row join submission_row sent using (row_id) join submission using (submission_id)
        where partner_id = ${partnerId}
      ) told
      group by carrier
    ) carried
    join submission on submission_id = carrier
    join run using (run_id)
    order by submission_id desc
    limit ${limit}`.execute(db)
  return listed(rows.toReversed().map(({ carrier: _, ...row }) => row))
}
