import { isOurStream } from '../../config/schema.ts'
import type { PolicyWords } from '../../db/ledger/resend-policy.ts'
import type { AbsenceCause, InputDifference } from '../../db/tables/difference-tables.ts'
import type { GuardExample } from '../../db/tables/run-tables.ts'
import type { HeldStream } from '../../pipeline/report/report.ts'
import { streams } from '../../pipeline/streams/our-streams.ts'
import { allWords } from '../../pipeline/streams/rules/row-content.ts'
import { grouped, moment, shortened } from './readable.ts'
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
