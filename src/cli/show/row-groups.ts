import type { PolicyWords } from '../../db/ledger/resend-policy.ts'
import type { TracedRow } from '../../db/trace/trace-rows.ts'
import { contentDifference, type Difference } from './content-difference.ts'
import { rowWords } from './row-words.ts'

/** Rows of one stream that share a state, the certainty of it and the reason for it. */
export type RowGroup = Pick<
  TracedRow,
  'stream' | 'state' | 'outcome' | 'code' | 'reason' | 'submission_id' | 'held_run' | 'guard_change'
> &
  PolicyWords & {
    /** Since when the newest of them is in this state. */
    since: Date
    retry_asked_by: string | null
    rows: GroupedRow[]
  }

export type GroupedRow = {
  row_key: string
  /** What it says, in a few words. */
  words: string
  content: Record<string, unknown>
  first_seen_at: Date
  changed_at: Date
  /** What it said before, oldest first, and what changed then. */
  changes: { at: string; differences: Difference[] }[]
}

/** Brings a hotel's rows together as far as one can be told like the other. Pure. */
export function rowGroups(rows: readonly TracedRow[]): RowGroup[] {
  const groups = new Map<string, RowGroup>()
  for (const row of rows) {
    const { stream, state, outcome, code, reason, submission_id, held_run, guard_change, retry_asked_by } = row
    const { policy_after, policy_sent, policy_times } = row
    const key = JSON.stringify([
      stream,
      state,
      outcome,
      code,
      reason,
      submission_id,
      held_run,
      guard_change,
      retry_asked_by,
      policy_after,
      policy_sent,
    ])
    const since = sinceWhen(row)
    const group = groups.get(key) ?? {
      ...{ stream, state, outcome, code, reason, submission_id, held_run, guard_change, since, retry_asked_by },
      ...{ policy_after, policy_sent, policy_times },
      rows: [],
    }
    if (since > group.since) group.since = since
    group.rows.push(grouped(row))
    groups.set(key, group)
  }
  return [...groups.values()].toSorted((a, b) => order(a) - order(b))
}

function grouped(row: TracedRow): GroupedRow {
  const { row_key, content, first_seen_at, changed_at, past } = row
  const later = [...past.slice(1).map((change) => change.content), content]
  const changes = past.map((change, index) => ({
    at: change.until,
    differences: contentDifference(change.content, later[index] ?? content),
  }))
  return { row_key, words: rowWords(row.stream, content), content, first_seen_at, changed_at, changes }
}

function sinceWhen({ state, changed_at, outcome_at, accepted_at, gone_at }: TracedRow): Date {
  if (state === 'gone') return gone_at ?? changed_at
  if (state === 'accepted') return accepted_at ?? changed_at
  return (state === 'rejected' || state === 'unknown' ? outcome_at : null) ?? changed_at
}

/** The mapping first, for the rest waits for it; then what needs a person; then what waits; then what is done. */
function order({ stream, state }: RowGroup): number {
  const urgency = [
    'rejected',
    'invalid',
    'unknown',
    'held',
    'parked',
    'in_flight',
    'pending',
    'gone',
    'accepted',
  ].indexOf(state)
  return stream === 'properties' ? urgency - 100 : urgency
}
