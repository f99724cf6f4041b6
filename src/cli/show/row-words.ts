import { isOurStream } from '../../config/schema.ts'
import { counted, grouped } from '../../counted.ts'
import type { PolicyWords } from '../../db/ledger/rows-to-retry.ts'
import type { HotelSuspension } from '../../db/ledger/suspended-hotels.ts'
import type { AbsenceCause, InputDifference } from '../../db/tables/difference-tables.ts'
import type { GuardExample } from '../../db/tables/run-tables.ts'
import type { PartnerTrace, TracedCompany } from '../../db/trace/trace-partner.ts'
import type { TracedRow } from '../../db/trace/trace-rows.ts'
import type { HeldStream } from '../../pipeline/report/report.ts'
import { streams } from '../../pipeline/streams/our-streams.ts'
import { allWords } from '../../pipeline/streams/rules/row-content.ts'
import { moment, shortened } from './readable.ts'
import { table } from './table.ts'

/** What a ledger row says, in a few words. For people; the row key and the content in full are in the JSON. */
export function rowWords(stream: string, content: Readonly<Record<string, unknown>>): string {
  return isOurStream(stream) ? streams[stream].words(content) : allWords(content)
}

/** What a policy will do about a rejected row, for a person; null where none will. Pure. */
export function policyWords({ policy_after, policy_sent, policy_times }: PolicyWords): string | null {
  if (policy_after === null) return null
  const count = policy_times === null ? '' : `, for the ${ordinal((policy_sent ?? 0) + 1)} time of ${policy_times}`
  return `sent again by policy after ${moment(policy_after)}${count}`
}

function ordinal(number: number): string {
  const suffixes: Record<string, string> = { one: 'st', two: 'nd', few: 'rd', other: 'th' }
  return `${number}${suffixes[ordinals.select(number)] ?? 'th'}`
}

const ordinals = new Intl.PluralRules('en-GB', { type: 'ordinal' })

/** One value that differs; absent means null. */
export type Difference = { field: string; from: string | null; to: string | null }

type Content = Readonly<Record<string, unknown>>

/** What differs between two contents of a row, value by value; what is nested is named by its path. Pure. */
export function contentDifference(from: Content, to: Content): Difference[] {
  const [before, after] = [flat(from), flat(to)]
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((field) => ({ field, from: before.get(field) ?? null, to: after.get(field) ?? null }))
    .filter((value) => value.from !== value.to)
}

/** A difference as a person reads it: name: 'Old' → 'New'. */
export function differenceWords({ field, from, to }: Difference): string {
  return `${field}: ${quoted(from)} → ${quoted(to)}`
}

function quoted(value: string | null): string {
  return value === null ? 'none' : `'${value}'`
}

function flat(content: Content, prefix = ''): Map<string, string> {
  return new Map(
    Object.entries(content).flatMap(([name, value]): [string, string][] => {
      if (value === null || value === undefined) return []
      if (typeof value === 'object') return [...flat(value as Content, `${prefix}${name}.`)]
      return [[`${prefix}${name}`, typeof value === 'string' ? value : JSON.stringify(value)]]
    }),
  )
}

const causes: Record<AbsenceCause, string> = {
  mapped_since: 'absent: mapped to this company since it was accepted',
  company_not_returned: 'absent: the search does not return the company',
  period_not_returned: 'absent: no calculator of the period',
  value_not_returned: 'absent: not in the calculator of the period',
}

/** One difference in short texts. Pure. */
export function differenceRow(row: InputDifference) {
  const { kind, cause, period_year, period_month, variable_id, variable_name } = row
  return {
    period: period_month === null ? String(period_year) : `${period_year}-${String(period_month).padStart(2, '0')}`,
    input: shortened(variable_name ?? variable_id, 40),
    what: cause === null ? kind : causes[cause],
    sent: kind === 'foreign' ? null : shortened(row.sent ?? '(blank)', 40),
    stored: row.stored === null ? null : shortened(row.stored, 40),
  }
}

/** What the guard stopped a run over: which streams, how many rows, and a few of them. */
export function renderHeld(held: readonly HeldStream[]): string {
  if (held.length === 0) return ''
  const streams = table(
    ['stream', 'why', 'known', 'new', 'changed', 'gone', 'of the known'],
    held.map((plan) => [
      plan.stream,
      plan.reason === 'empty' ? 'the partner has no row' : 'a large share',
      plan.known,
      plan.new,
      plan.changed,
      plan.gone,
      plan.known === 0 ? '–' : `${grouped(Math.round((100 * (plan.new + plan.changed + plan.gone)) / plan.known))} %`,
    ]),
  )
  const examples = held.flatMap(({ stream, examples: rows }) =>
    rows.map((row) => [shortened(row.partner_id, 24), stream, row.change, shortened(changeWords(row), 90)]),
  )
  const shown = examples.length === 0 ? '' : `\n\n${table(['hotel', 'stream', 'change', 'what'], examples)}`
  return `What the guard holds (rows)\n${streams}${shown}`
}

function changeWords({ before, after }: GuardExample): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const text = (value: unknown) =>
    value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value)
  return names
    .filter((name) => before === null || after === null || text(before[name]) !== text(after[name]))
    .map((name) => {
      if (before === null) return `${name}: ${text(after?.[name])}`
      return after === null ? `${name}: ${text(before[name])}` : `${name}: ${text(before[name])} → ${text(after[name])}`
    })
    .join('; ')
}

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
    group.rows.push(asGrouped(row))
    groups.set(key, group)
  }
  return [...groups.values()].toSorted((a, b) => order(a) - order(b))
}

function asGrouped(row: TracedRow): GroupedRow {
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
    'unconfigured',
    'gone',
    'accepted',
  ].indexOf(state)
  return stream === 'properties' ? urgency - 100 : urgency
}

/** Where a hotel stands, in the few sentences that a person reads first. Pure. */
export function headlines(
  { company, suspended, rows, differences, row_differences, more }: PartnerTrace,
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
      count('unconfigured'),
      (what) => `${what} not accepted, of streams that are not in the configuration: no run sends them`,
    ],
    [
      count('gone'),
      (what) =>
        `${there === 0 && rows.length > 1 ? `All ${what} are` : what} gone in your database; nothing of them is sent, and what the service took stays there`,
    ],
  ]
  const waiting = sentences.filter(([number]) => number > 0).map(([number, say]) => `${say(counted(number, 'row'))}.`)
  const head = there === 0 ? [] : [acceptedWords(accepted, there)]
  const unlike = differences.filter(({ kind }) => kind !== 'foreign').length
  const differ = unlike > 0 ? [`${counted(unlike, 'input')} came back otherwise than sent, or not at all.`] : []
  const others = row_differences.length + more.row_differences
  const otherwise =
    others > 0 ? [`${counted(others, 'row')} the service shows otherwise than sent, or not at all.`] : []
  const kept = suspended === null ? [] : [suspensionWords(suspended)]
  return [...kept, ...head, ...waiting, ...sharedCompany(company, there), cameBack(company), ...differ, ...otherwise]
}

function acceptedWords(accepted: number, there: number): string {
  if (accepted < there) return `${accepted} of ${counted(there, 'row')} ${there === 1 ? 'is' : 'are'} accepted.`
  return there === 1 ? 'Its only row is accepted.' : `All ${counted(there, 'row')} are accepted.`
}

/** Hotels that a sentence names; the JSON has all of them. */
const hotelsNamed = 5

/** That other hotels are the same company, such as the one that this is called by now. */
function sharedCompany(company: PartnerTrace['company'], there: number): string[] {
  const others = company?.other_hotels ?? []
  if (others.length === 0) return []
  const more = others.length > hotelsNamed ? [`${others.length - hotelsNamed} more`] : []
  const named = new Intl.ListFormat('en-GB').format([...others.slice(0, hotelsNamed), ...more])
  const mapped = `Its company is also that of ${named}`
  return [there === 0 ? `${mapped}.` : `${mapped}: what one of them sends overwrites what the other sent.`]
}

/** That nothing of a hotel is sent, also where nothing is pending by now. */
function suspensionWords({ by, reason, suspended_by, suspended_at, resumed_by, resumed_at }: HotelSuspension): string {
  if (resumed_at !== null)
    return `It was suspended; ${resumed_by} resumed it at ${moment(resumed_at)} UTC, for the next run.`
  const what = by === 'pilot' ? 'It is not in the pilot, which is on' : 'It is suspended'
  return `${what} since ${moment(suspended_at)} UTC, by ${suspended_by}: ${reason}. Nothing of it is sent.`
}

function parkedOver(groups: readonly RowGroup[]): string {
  const reasons = new Set(groups.filter(({ state }) => state === 'parked').map(({ reason }) => reason ?? ''))
  return [...reasons].join('; ')
}

function cameBack(company: PartnerTrace['company']): string {
  if (company === null) return 'It is not mapped to a company of the service, so nothing can come back.'
  if (company.changed_at === null) return 'No search has returned its company yet.'
  if (company.removed_at !== null) return 'The last searches no longer return its company.'
  const calculators = counted(company.calculators, 'calculator')
  const unrenewed = unrenewedWords(company)
  if (unrenewed === null) return `${calculators} came back.`
  return `${calculators} ${company.calculators === 1 ? 'stands' : 'stand'}; ${unrenewed}.`
}

/** What the last searches did not show of what came back; null where they showed all of it. Pure. */
export function unrenewedWords(company: TracedCompany): string | null {
  const { not_renewed_since: since, not_renewed_reason: reason, unrenewed_calculators: calculators } = company
  if (since !== null) return `its company is not renewed since ${moment(since)} UTC (${reason})`
  if (calculators === 0) return null
  return `${calculators} of them not renewed since ${moment(company.calculators_not_renewed_since)} UTC`
}
