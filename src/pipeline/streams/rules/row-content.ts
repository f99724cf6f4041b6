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
