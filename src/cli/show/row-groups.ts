import type { PolicyWords } from '../../db/ledger/resend-policy.ts'
import type { PartnerTrace } from '../../db/trace/trace-partner.ts'
import type { TracedRow } from '../../db/trace/trace-rows.ts'
import { counted } from './readable.ts'
import { contentDifference, type Difference, rowWords } from './row-words.ts'

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

/** Where a hotel stands, in the few sentences that a person reads first. Pure. */
export function headlines(
  { company, rows, differences, row_differences, more }: PartnerTrace,
  groups: readonly RowGroup[],
): string[] {
  const count = (state: RowGroup['state']) =>
    groups.filter((group) => group.state === state).reduce((sum, group) => sum + group.rows.length, 0)
  const accepted = count('accepted')
  const there = rows.length - count('gone')
  const held = (is: (group: RowGroup) => boolean) => {
    const groupsHeld = groups.filter((group) => group.held_run !== null && is(group))
    return { rows: groupsHeld.reduce((sum, group) => sum + group.rows.length, 0), run: groupsHeld[0]?.held_run ?? null }
  }
  const waits = held(({ state }) => state === 'held')
  const missing = held(({ state, guard_change }) => state === 'accepted' && guard_change === 'gone')
  const sentences: [number, (rows: string) => string][] = [
    [count('rejected'), (what) => `${what} rejected by the service`],
    [count('invalid'), (what) => `${what} invalid, and not sent`],
    [count('unknown'), (what) => `${what} of which nobody knows what became; the next run sends them again`],
    [waits.rows, (what) => `${what} held by the guard: nightferry approve ${waits.run} lets them through`],
    [
      missing.rows,
      (what) => `${what} accepted, and missing in your database: nightferry approve ${missing.run} marks them gone`,
    ],
    [count('parked'), (what) => `${what} parked: ${parkedOver(groups)}`],
    [count('in_flight'), (what) => `${what} on the way`],
    [count('pending'), (what) => `${what} pending; the next run sends them`],
    [
      count('gone'),
      (what) => `${what} gone in your database; nothing of them is sent, and what the service took stays there`,
    ],
  ]
  const waiting = sentences.filter(([number]) => number > 0).map(([number, say]) => `${say(counted(number, 'row'))}.`)
  const head =
    waiting.length === 0
      ? `All ${counted(there, 'row')} are accepted.`
      : `${accepted} of ${counted(there, 'row')} are accepted.`
  const unlike = differences.filter(({ kind }) => kind !== 'foreign').length
  const differ = unlike > 0 ? [`${counted(unlike, 'input')} came back otherwise than sent, or not at all.`] : []
  const others = row_differences.length + more.row_differences
  const otherwise =
    others > 0 ? [`${counted(others, 'row')} the service shows otherwise than sent, or not at all.`] : []
  return [head, ...waiting, cameBack(company), ...differ, ...otherwise]
}

function parkedOver(groups: readonly RowGroup[]): string {
  const reasons = new Set(groups.filter(({ state }) => state === 'parked').map(({ reason }) => reason ?? ''))
  return [...reasons].join('; ')
}

function cameBack(company: PartnerTrace['company']): string {
  if (company === null) return 'It is not mapped to a company of the service, so nothing can come back.'
  if (company.name === null && company.calculators === 0) return 'No search has returned its company yet.'
  if (company.removed_at !== null) return 'The last searches no longer return its company.'
  return `${counted(company.calculators, 'calculator')} came back.`
}
