const escapes: Record<string, string> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\b': '\\b',
  '\f': '\\f',
  '\v': '\\v',
}
const characters = new Map(Object.entries(escapes).map(([character, written]) => [written, character]))

/**
 * One value in COPY's text form, as PostgreSQL itself writes it: backspace, form feed and vertical tab are escaped too,
 * so that a line can travel through another COPY with these for delimiter and quote, untouched.
 */
export function copyText(value: string | null): string {
  if (value === null) return '\\N'
  return value.replaceAll(/[\\\b\f\n\r\t\v]/g, (character) => escapes[character] ?? character) // oxlint-disable-line no-control-regex
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
