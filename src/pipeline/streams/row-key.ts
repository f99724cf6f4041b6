/** A partner row: every column as the partner's server prints it, or null. */
export type PartnerRow = Record<string, string | null>

/** A ledger row as a stream's partner row describes it. */
export type LandingRow = { partnerId: string; rowKey: string; content: Record<string, unknown> }

/** Longer ones cannot be a key, and are invalid. Partners' ids are codes of a few characters. */
export const maxPartnerIdLength = 255

const id = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a column holds an id of the service. */
export function isId(text: string | null | undefined): boolean {
  return typeof text === 'string' && id.test(text)
}

/** An omitted month of a yearly period means January (Framework answers upsert request). */
export function monthOf(row: PartnerRow): string | null {
  return row.month ?? (row.period_type === 'Yearly' ? '1' : null)
}

/** One text for several parts, whatever they contain: two lists of parts never make the same one. */
export function keyOf(...parts: (string | null | undefined)[]): string {
  return JSON.stringify(parts.map((part) => part ?? null))
}

/** Absent and null are one thing here; leaving nulls out keeps the content's hash from depending on which it was. */
export function present(columns: PartnerRow): Record<string, string> {
  const known: Record<string, string> = {}
  for (const name in columns) {
    const value = columns[name] ?? null
    if (value !== null) known[name] = value
  }
  return known
}
