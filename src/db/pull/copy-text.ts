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
