/**
 * Characters that could drive a terminal or reorder what a person reads: controls, and bidirectional formatting.
 * Partner and service data pass through here before they are shown; JSON output keeps them escaped instead.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g // oxlint-disable-line no-control-regex

/** Text as it is safe to show on a terminal: unsafe characters become visible escapes. */
export function readable(text: string): string {
  return text.replaceAll(unsafe, escaped)
}

/**
 * JSON as it is safe to show on a terminal: equal, with every unsafe character escaped, also those that JSON need not
 * escape.
 */
export function readableJson(json: string): string {
  return json.replaceAll(unsafe, (character) => (character === '\n' ? character : escaped(character)))
}

/** A log line as it is safe to show: JSON and the pretty printer escape what is below U+0080, and colours stay. */
export function readableLog(line: string): string {
  return line.replaceAll(unsafe, (character) => (character < '\u007f' ? character : escaped(character)))
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The same, cut to a width in characters. */
export function shortened(text: string, width: number): string {
  const safe = readable(text)
  const characters = Array.from(safe)
  return characters.length <= width ? safe : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}

/** A duration as a person says it: 850 ms, 12.4 s, 3 min 05 s, 1 h 02 min. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  const two = (value: number) => String(value).padStart(2, '0')
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`
}

/** A moment in UTC to the second; a dash for none. */
export function moment(at: Date | string | null): string {
  return at === null ? '–' : new Date(at).toISOString().replace('T', ' ').slice(0, 19)
}

/** How much room something takes, to three digits: `1.2 GB`. Pure. */
export function byteWords(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1)
  const size = bytes / 1000 ** power
  return `${power === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[power] ?? ''}`
}

/**
 * A table as CSV (RFC 4180), for spreadsheets. What a spreadsheet would take for a formula gets an apostrophe in front,
 * and characters that could drive a terminal are escaped: the cells come from the partner's data and the service.
 */
export function csv(columns: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
}

/** The same of rows whose cells bear the names of the columns. */
export function csvByName<Name extends string>(
  columns: readonly Name[],
  rows: readonly { readonly [name in Name]: string | number | boolean | Date | null }[],
): string {
  const cell = (value: string | number | boolean | Date | null) => {
    if (value instanceof Date) return value.toISOString()
    return typeof value === 'boolean' ? String(value) : value
  }
  return csv(
    columns,
    rows.map((row) => columns.map((name) => cell(row[name]))),
  )
}

function csvCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  // Where the decimal sign is a comma, spreadsheets separate cells by semicolons.
  const safe = readable(value).replaceAll(/;[ "]*(?=[=+@-])/g, "$&'")
  const text = /^[=+@-]/.test(safe) && !plainNumber.test(safe) ? `'${safe}` : safe
  return /[",\s]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const plainNumber = /^[+-]?\d+(\.\d+)?$/
