/**
 * The text form of PostgreSQL's COPY, in which every row travels from here to a database or from there; and what of any
 * text PostgreSQL can keep.
 */

export type CopyValue = string | number | boolean | null

/** What stands for no value. */
export const copyNull = '\\N'

const escapes: Record<string, string> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\b': '\\b',
  '\f': '\\f',
  '\v': '\\v',
}
const special = /[\\\b\f\n\r\t\v]/ // oxlint-disable-line no-control-regex
const characters = new Map(Object.entries(escapes).map(([character, written]) => [written, character]))

/**
 * One value as PostgreSQL itself writes it, so that any text without NUL and lone surrogates comes back byte for byte.
 * Backspace, form feed and vertical tab need no escape, but PostgreSQL writes one, and a snapshot knows a line by its
 * bytes. Most texts hold nothing to escape, so that is asked first.
 */
export function copyText(value: string | null): string {
  if (value === null) return copyNull
  if (!special.test(value)) return value
  return value.replaceAll(/[\\\b\f\n\r\t\v]/g, (character) => escapes[character] ?? character) // oxlint-disable-line no-control-regex
}

/** `bytea`, given in hexadecimal digits. */
export function copyBytes(hexadecimal: string): string {
  return `\\\\x${hexadecimal}`
}

/** One row, with its line end. */
export function copyLine(row: readonly (CopyValue | undefined)[]): string {
  let line = ''
  for (let index = 0; index < row.length; index++) {
    const value = row[index]
    if (index > 0) line += '\t'
    line +=
      typeof value === 'string' ? copyText(value) : value === null || value === undefined ? copyNull : String(value)
  }
  return `${line}\n`
}

/** Rows as lines, in UTF-8. */
export function copyLines(rows: readonly (readonly (string | null)[])[]): Buffer {
  return Buffer.from(rows.map(copyLine).join(''))
}

/** The values of a line, without its line end. */
export function valuesOf(line: string): (string | null)[] {
  return line.split('\t').map((field) => {
    if (field === copyNull) return null
    return field.includes('\\') ? field.replaceAll(/\\./gs, (written) => characters.get(written) ?? written) : field
  })
}

/**
 * Text as Postgres can keep it: NUL is shown as its escape and half a surrogate pair as U+FFFD. For what the service
 * says to people; a text that must come back byte for byte is refused instead.
 */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', String.raw`\u0000`)
}

/** A JSON document as jsonb can keep it: one strange character in a message must not keep a task from being stored. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value)
  // JSON escapes exactly the characters that jsonb refuses, so a document without these escapes needs no second pass.
  if (!/\\u(?:0000|d[89a-f])/i.test(text)) return text
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === 'string') return storableText(member)
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).map(([name, inner]) => [storableText(name), inner as unknown]))
  })
}
