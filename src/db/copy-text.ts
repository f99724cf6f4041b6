export type CopyValue = string | number | boolean | null

const special = /[\\\t\n\r]/

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

/**
 * One row in PostgreSQL's COPY text format. Backslash, tab and line ends are escaped; every other character stands for
 * itself, so that any text without NUL and lone surrogates comes back byte for byte.
 */
export function copyLine(row: readonly CopyValue[]): string {
  let line = ''
  for (let index = 0; index < row.length; index++) {
    const value = row[index]
    if (index > 0) line += '\t'
    if (value === null || value === undefined) line += '\\N'
    else if (typeof value === 'string') line += copyField(value)
    else line += String(value)
  }
  return `${line}\n`
}

/** One text in COPY text format; most hold nothing to escape, so that is asked first. */
export function copyField(text: string): string {
  return special.test(text) ? text.replaceAll(/[\\\t\n\r]/g, (character) => escapes[character] ?? character) : text
}

const allEscapes: Record<string, string> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\b': '\\b',
  '\f': '\\f',
  '\v': '\\v',
}
const anySpecial = /[\\\b\f\n\r\t\v]/ // oxlint-disable-line no-control-regex
const characters = new Map(Object.entries(allEscapes).map(([character, written]) => [written, character]))

/**
 * One value in COPY's text form, as PostgreSQL itself writes it: backspace, form feed and vertical tab are escaped too,
 * so that a line can travel through another COPY with these for delimiter and quote, untouched.
 */
export function copyText(value: string | null): string {
  if (value === null) return '\\N'
  if (!anySpecial.test(value)) return value
  return value.replaceAll(/[\\\b\f\n\r\t\v]/g, (character) => allEscapes[character] ?? character) // oxlint-disable-line no-control-regex
}

/** Rows as lines of COPY's text form, in UTF-8. */
export function copyLines(rows: readonly (readonly (string | null)[])[]): Buffer {
  return Buffer.from(rows.map((row) => `${row.map(copyText).join('\t')}\n`).join(''))
}

/** The values of a line in COPY's text form, without its line end. */
export function valuesOf(line: string): (string | null)[] {
  return line.split('\t').map((field) => {
    if (field === '\\N') return null
    return field.includes('\\') ? field.replaceAll(/\\./gs, (written) => characters.get(written) ?? written) : field
  })
}
