import type { UnrenewedPart } from '../../db/tables/history.ts'
import type { UnrenewedCount } from '../pull/removals/take-removals.ts'

const nouns: Record<UnrenewedPart, readonly [string, string]> = {
  company: ['company', 'companies'],
  company_name: ['company name', 'company names'],
  calculator: ['calculator', 'calculators'],
  calculator_title: ['calculator title', 'calculator titles'],
  value: ['value', 'values'],
  property: ['property value', 'property values'],
  variable_name: ['variable name', 'variable names'],
  property_name: ['name of a custom property', 'names of custom properties'],
}

/** What stands and was not renewed, a line per kind and reason. Pure. */
export function unrenewedLines(counts: readonly UnrenewedCount[]): string[] {
  return counts.map(
    ({ part, parts, reason, since }) =>
      `${partWords(part, parts)} not renewed since ${minuteOf(since)} UTC: ${reason}.`,
  )
}

/**
 * What a run's report says of it: what needs a person, and, of what a person has brought back, what is worth knowing.
 * Pure.
 */
export function unrenewedRemarks(counts: readonly UnrenewedCount[]): { remarks: string[]; notices: string[] } {
  const withheld = counts.filter((one) => one.withheld && one.reason !== 'restored')
  const unreadable = counts.filter((one) => !one.withheld)
  const restored = counts.filter((one) => one.reason === 'restored')
  const remarks = []
  if (withheld.length > 0) {
    remarks.push(
      `The search does not show ${list(withheld)}, which stay as they were. If that is right: nightferry accept-removals --all, which removes them; with --dry-run it lists them.`,
    )
  }
  if (unreadable.length > 0) {
    remarks.push(
      `The search did not renew ${list(unreadable)}, which stay as they were; the view not_renewed lists them.`,
    )
  }
  const notices =
    restored.length === 0
      ? []
      : [
          `The service does not show ${list(restored)}. They stay until it does, or nightferry accept-removals --reason restored.`,
        ]
  return { remarks, notices }
}

function list(counts: readonly UnrenewedCount[]): string {
  return counts
    .map(({ part, parts, reason, since }) => `${partWords(part, parts)} (${reason}, since ${minuteOf(since)} UTC)`)
    .join(', ')
}

function partWords(part: UnrenewedPart, parts: number): string {
  const [one, many] = nouns[part]
  return `${parts} ${parts === 1 ? one : many}`
}

function minuteOf(moment: Date): string {
  return moment.toISOString().slice(0, 16).replace('T', ' ')
}
