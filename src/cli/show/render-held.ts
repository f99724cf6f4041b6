import type { GuardExample } from '../../db/tables/run-tables.ts'
import type { HeldStream } from '../../pipeline/report/report.ts'
import { grouped, shortened } from './readable.ts'
import { table } from './table.ts'

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
    rows.map((row) => [shortened(row.partner_id, 24), stream, row.change, shortened(difference(row), 90)]),
  )
  const shown = examples.length === 0 ? '' : `\n\n${table(['hotel', 'stream', 'change', 'what'], examples)}`
  return `What the guard holds (rows)\n${streams}${shown}`
}

function difference({ before, after }: GuardExample): string {
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
