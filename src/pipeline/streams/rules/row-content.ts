/** A ledger row's content: every value as the partner's server printed it; absent means null. */
export type RowContent = Readonly<Record<string, unknown>>

/** A column's text, or null. */
export function text(content: RowContent, name: string): string | null {
  const value = Object.hasOwn(content, name) ? content[name] : null
  return typeof value === 'string' ? value : null
}

/** Whether a column holds more than white space. */
export function isGiven(content: RowContent, name: string): boolean {
  return (text(content, name) ?? '').trim() !== ''
}

/** What a reason quotes of a value: enough to find it again. */
export function shown(value: string): string {
  return value.length > 60 ? `${value.slice(0, 60).toWellFormed()}…` : value
}

/** The texts of these columns that a row has, one after the other. */
export function partsOf(content: RowContent, columns: readonly string[]): string[] {
  return columns.map((name) => text(content, name)).filter((part) => part !== null)
}

/** An id and, where there is one, a value: `data point 4711 = 12`. */
export function idWords(content: RowContent, what: string, idColumn: string): string {
  const value = text(content, 'value')
  return `${what} ${text(content, idColumn) ?? '–'}${value === null ? '' : ` = ${value}`}`
}

/** Every column of a row with its value. */
export function allWords(content: RowContent): string {
  return Object.entries(content)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
}

/** 2025 for a year as a whole, 2025-03 for a month, Yearly 2025-04 for a year that begins in April. */
export function periodWords(content: RowContent): string {
  const { year, month, period_type: type } = content as Record<string, string | undefined>
  if (month === undefined || (type === 'Yearly' && month === '1')) return year ?? '–'
  return `${type === 'Yearly' ? 'Yearly ' : ''}${year ?? '–'}-${month.padStart(2, '0')}`
}
