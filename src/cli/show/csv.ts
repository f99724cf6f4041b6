import { readable } from './readable.ts'

/**
 * A table as CSV (RFC 4180), for spreadsheets. What a spreadsheet would take for a formula gets an apostrophe in front,
 * and characters that could drive a terminal are escaped: the cells come from the partner's data and the service.
 */
export function csv(columns: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
}

function csvCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const safe = readable(value)
  const text = /^[=+@-]/.test(safe) && !plainNumber.test(safe) ? `'${safe}` : safe
  return /[",\s]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const plainNumber = /^[+-]?\d+(\.\d+)?$/
