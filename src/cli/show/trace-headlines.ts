import type { PartnerTrace } from '../../db/trace/trace-partner.ts'
import { counted } from './readable.ts'
import type { RowGroup } from './row-groups.ts'

/** Where a hotel stands, in the few sentences that a person reads first. Pure. */
export function headlines({ company, rows, differences }: PartnerTrace, groups: readonly RowGroup[]): string[] {
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
  return [head, ...waiting, cameBack(company), ...differ]
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
