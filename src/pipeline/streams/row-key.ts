/** A partner row: every column as the partner's server prints it, or null. */
export type PartnerRow = Record<string, string | null>

/** A ledger row as a stream's partner row describes it. */
export type LandingRow = { partnerId: string; rowKey: string; content: Record<string, unknown> }

/** Longer ones cannot be a key, and are invalid. Partners' ids are codes of a few characters. */
export const maxPartnerIdLength = 255

/** The form of an id of the service, with `0` for any hexadecimal digit. */
const idForm = Buffer.from('00000000-0000-0000-0000-000000000000')

/** What each character below 128 is in the form of an id. */
const inIdForm = Uint8Array.from({ length: 128 }, (_, code) => code)
for (const digit of Buffer.from('123456789abcdefABCDEF')) inIdForm[digit] = idForm[0] ?? 0

/** Whether a column holds an id of the service. A regular expression takes three times as long, several times a row. */
export function isId(text: string | null | undefined): boolean {
  if (text?.length !== idForm.length) return false
  for (let at = 0; at < idForm.length; at++) {
    if (inIdForm[text.charCodeAt(at)] !== idForm[at]) return false
  }
  return true
}

/** An omitted month of a yearly period means January (Framework answers upsert request). */
export function monthOf(row: PartnerRow): string | null {
  return row.month ?? (row.period_type === 'Yearly' ? '1' : null)
}

/** One text for several parts, whatever they contain: two lists of parts never make the same one. */
export function keyOf(...parts: (string | null | undefined)[]): string {
  return JSON.stringify(parts.map((part) => part ?? null))
}

/**
 * The columns of a row that have a value, but for the one that names the hotel. Absent and null are one thing here;
 * leaving nulls out keeps the content's hash from depending on which it was.
 */
export function present(columns: PartnerRow, idColumn = 'partner_id'): Record<string, string> {
  const known: Record<string, string> = {}
  for (const name in columns) {
    const value = columns[name] ?? null
    if (value !== null && name !== idColumn) known[name] = value
  }
  return known
}

/** The same of a row with a period, whose month may be left out. */
export function presentInPeriod(columns: PartnerRow): Record<string, string> {
  const month = monthOf(columns)
  // The month stays in its column's place: members in the same order as before are written fastest (`jsonbText`).
  return present(month === (columns.month ?? null) ? columns : { ...columns, month })
}
