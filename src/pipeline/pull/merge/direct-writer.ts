import type pg from 'pg'
import { copyReady, copyText } from '../../../db/copy-text.ts'
import type { Turns } from '../../../db/database.ts'

/** The tables that take rows as they are, with the columns given. No foreign key prescribes an order. */
const columns = {
  company: 'company_key, company_id, name, content_hash, content_bytes, listing_key, calculators, values',
  company_property: 'company_key, property_key, ordinal, value',
  calculator: 'calculator_key, calculator_id, company_key, type_id, title, period_year, period_month',
  calculator_value: 'company_key, calculator_key, variable_key, direction, value',
} as const

type DirectTable = keyof typeof columns

const tables = Object.keys(columns) as DirectTable[]

export type DirectWriter = {
  /** Where rows of each table are written, field by field, until they are copied. */
  lines: Lines
  /** Begins to copy what was written, if that is worth a round trip, once the copy before is done. */
  drain(): Promise<void>
  /** Copies all that has been written. Nothing may be written afterwards. */
  end(): Promise<void>
}

/**
 * Bytes of one table per COPY. While one batch is copied the next is made, so that at most two are in memory. Fewer
 * bytes cost more round trips, during which the server has nothing to do; so it has until the first batch comes, which
 * is small for that reason, and each of the next is twice as large.
 */
const batchBytes = { first: 64 * 1024, most: 512 * 1024 }

/** Memory to begin with. */
const firstBytes = 16 * 1024

type Lines = Readonly<Record<DirectTable, LineBuffer>>

/**
 * Buffers of pages that are loaded, kept for the next pages: megabytes that grew again for each would be garbage that
 * only full collections find.
 */
const spare: Lines[] = []

/** Of how many pages: those that a daemon usually loads at the same time; and bytes that each of them may hold. */
const mostSpare = { pages: 2, bytes: 8 * 1024 * 1024 }

/**
 * Writes new rows straight into the tables through COPY, on a connection that runs the page's transaction.
 * @param turns of all that use the connection at the same time.
 */
export function createDirectWriter(client: pg.ClientBase, turns: Turns): DirectWriter {
  const lines = spare.pop() ?? {
    company: new LineBuffer(firstBytes),
    company_property: new LineBuffer(firstBytes),
    calculator: new LineBuffer(firstBytes),
    calculator_value: new LineBuffer(firstBytes),
  }
  let copying: Promise<void> = Promise.resolve()
  let enough = batchBytes.first

  async function copyNext(full: readonly DirectTable[]): Promise<void> {
    await copying
    const batch = full.map((table) => ({ into: `${table} (${columns[table]})`, rows: [lines[table].take()] }))
    copying = turns.take(() => copyReady(client, batch))
    // Anyone who drains or flushes next is told.
    copying.catch(() => {})
  }

  return {
    lines,
    drain: async () => {
      const full = tables.filter((table) => lines[table].length >= enough)
      if (full.length === 0) return
      enough = Math.min(enough * 2, batchBytes.most)
      await copyNext(full)
    },
    end: async () => {
      await copyNext(tables.filter((table) => lines[table].length > 0))
      await copying
      const held = tables.reduce((sum, table) => sum + lines[table].held, 0)
      if (spare.length < mostSpare.pages && held <= mostSpare.bytes) spare.push(lines)
    },
  }
}

const tab = 0x09
const lineFeed = 0x0a
const zero = 0x30

/** Rows in PostgreSQL's COPY text format, written as bytes into memory that grows as needed. */
export class LineBuffer {
  #bytes: Buffer
  #view: DataView
  #length = 0
  /** Memory that was taken and is free again: millions of rows need no more than two such, a small page needs one. */
  #spare: Buffer | undefined

  constructor(initialBytes: number) {
    this.#bytes = Buffer.allocUnsafe(initialBytes)
    this.#view = viewOf(this.#bytes)
  }

  get length(): number {
    return this.#length
  }

  /** Bytes of its memory. */
  get held(): number {
    return this.#bytes.length + (this.#spare?.length ?? 0)
  }

  /** What was written. It holds until the next is taken: by then anyone who has it must be done with it. */
  take(): Buffer {
    const taken = this.#bytes
    const { length } = this
    this.#use(this.#spare ?? Buffer.allocUnsafe(taken.length))
    this.#spare = taken
    this.#length = 0
    return taken.subarray(0, length)
  }

  /** A whole number and the end of its field. */
  field(number: number): void {
    this.int(number)
    this.tab()
  }

  /** Ends a field. */
  tab(): void {
    this.#room(1)
    this.#bytes[this.#length++] = tab
  }

  /** Ends a row. */
  end(): void {
    this.#room(1)
    this.#bytes[this.#length++] = lineFeed
  }

  /** A whole number from 0 to 2^31 - 1. */
  int(number: number): void {
    this.#room(mostDigits)
    this.#length = writeDigits(this.#bytes, this.#length, number)
  }

  /** A text of any characters, escaped as COPY needs it; null stands for no value. */
  text(value: string | null): void {
    const field = copyText(value)
    // No UTF-16 unit needs more than three bytes in UTF-8.
    this.#room(field.length * 3)
    this.#length += this.#bytes.write(field, this.#length, 'utf8')
  }

  /** Bytes as they stand: of UTF-8 without control characters and backslashes, which need no escape. */
  bytes(source: Uint8Array, from: number, to: number): void {
    this.#room(to - from)
    const target = this.#bytes
    let length = this.#length
    for (let at = from; at < to; at++) target[length++] = source[at] ?? 0
    this.#length = length
  }

  /**
   * A whole row, of two parts that are ready and bytes as they stand, four at a time: for tables whose rows differ in
   * little.
   */
  row(first: Part, second: Part, source: DataView, from: number, to: number): void {
    this.#room(first.length + second.length + to - from + 1 + beyond)
    const target = this.#view
    let at = copyPart(first, target, this.#length)
    at = copyPart(second, target, at)
    const end = at + to - from
    let next = from
    if (to + beyond <= source.byteLength) {
      for (; at < end; at += 4, next += 4) target.setInt32(at, source.getInt32(next))
    } else {
      for (; at < end; at++, next++) target.setUint8(at, source.getUint8(next))
    }
    target.setUint8(end, lineFeed)
    this.#length = end + 1
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#use(larger)
  }

  #use(bytes: Buffer): void {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
  }
}

/** Bytes written behind a text that is copied four at a time, at most: whatever comes next writes over them. */
const beyond = 3

/** Fields that many rows have in common, ready to be copied into them four bytes at a time. */
export class Part {
  readonly view: DataView
  length = 0
  readonly #bytes: Buffer

  /** @param mostBytes of the fields. */
  constructor(mostBytes: number) {
    this.#bytes = Buffer.allocUnsafe(mostBytes + beyond)
    this.view = viewOf(this.#bytes)
  }

  /** A text without characters that COPY would need escaped. */
  static of(text: string): Part {
    const part = new Part(Buffer.byteLength(text))
    part.length = part.#bytes.write(text)
    return part
  }

  /** Two whole numbers from 0 to 2^31 - 1 and the ends of their fields, in the place of what it held. */
  setNumbers(first: number, second: number): void {
    const bytes = this.#bytes
    let at = writeDigits(bytes, 0, first)
    bytes[at++] = tab
    at = writeDigits(bytes, at, second)
    bytes[at++] = tab
    this.length = at
  }
}

function copyPart({ view, length }: Part, target: DataView, at: number): number {
  for (let from = 0; from < length; from += 4) target.setInt32(at + from, view.getInt32(from))
  return at + length
}

/** Digits of the largest number that is written. */
const mostDigits = 10

/** The most bytes that `setNumbers` writes. */
export const bytesOfNumbers = 2 * (mostDigits + 1)

/** @returns where they end. */
function writeDigits(bytes: Buffer, from: number, number: number): number {
  let digits = 1
  for (let power = 10; power <= number; power *= 10) digits++
  let left = number
  for (let at = from + digits - 1; at >= from; at--) {
    const tenth = Math.trunc(left / 10)
    bytes[at] = zero + left - tenth * 10
    left = tenth
  }
  return from + digits
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
