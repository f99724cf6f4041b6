import type pg from 'pg'

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

/**
 * Rows in COPY's text form, or in its binary one, and the table that takes them, with the columns:
 * `company (company_key, name)`.
 */
export type ReadyRows = { into: string; binary?: boolean; rows: readonly Uint8Array[] }

/**
 * Copies rows that are ready into tables, one table after the other. The bytes follow the statements at once: the
 * server takes them as soon as it has begun, and does not wait for us between two tables. If one of them fails, it
 * skips the rest (PostgreSQL, message flow of COPY operations).
 *
 * @returns when all are in their tables. Until then the bytes must stay as they are.
 */
export async function copyReady(client: pg.ClientBase, copies: readonly ReadyRows[]): Promise<void> {
  if (copies.length === 0) return
  await new Promise<void>((resolve, reject) => {
    client.query(new ReadyCopies(copies, resolve, reject))
  })
}

/** A statement that sends itself. The driver calls all that is public here; its types know `submit` alone. */
class ReadyCopies implements pg.Submittable {
  readonly #copies: readonly ReadyRows[]
  readonly #done: () => void
  readonly #failed: (error: unknown) => void
  /** Taken over by the driver where the database's address has a `query_timeout`: to call it stops the clock. */
  callback: () => void = () => {}

  constructor(copies: readonly ReadyRows[], done: () => void, failed: (error: unknown) => void) {
    this.#copies = copies
    this.#done = done
    this.#failed = failed
  }

  submit(connection: pg.Connection): void {
    const { stream } = connection
    stream.cork()
    const binary = ' with (format binary)'
    connection.query(this.#copies.map((copy) => `copy ${copy.into} from stdin${copy.binary ? binary : ''}`).join('; '))
    for (const { rows } of this.#copies) {
      for (const bytes of rows) {
        stream.write(copyData(bytes.length))
        stream.write(bytes)
      }
      stream.write(copyDone)
    }
    stream.uncork()
  }

  handleCopyInResponse(): void {}

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback()
    this.#done()
  }

  handleError(error: unknown): void {
    this.callback()
    this.#failed(error)
  }
}

/** The message CopyDone: its letter, and a length that counts itself. */
const copyDone = Buffer.from([0x63, 0, 0, 0, 4])

/** What stands before the bytes of a message CopyData. */
function copyData(bytes: number): Buffer {
  const head = Buffer.from([0x64, 0, 0, 0, 0])
  head.writeUInt32BE(bytes + 4, 1)
  return head
}

/** What stands before and after rows in the binary form of COPY. */
const binaryHead = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const binaryEnd = Buffer.from([0xff, 0xff])

/**
 * Rows in the binary form of COPY, with what stands before and after them: each the number of its values, then each
 * value behind its length.
 */
export function binaryFile(rows: readonly Buffer[]): Buffer[] {
  return [binaryHead, ...rows, binaryEnd]
}

/** The same for rows that come by and by. */
export async function* binaryStream(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield binaryHead
  yield* rows
  yield binaryEnd
}
