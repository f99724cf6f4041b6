import { copyField } from '../../../db/copy-text.ts'

const tab = 0x09
const lineFeed = 0x0a
const zero = 0x30

/** Rows in PostgreSQL's COPY text format, written as bytes into memory that grows as needed. */
export class LineBuffer {
  #bytes: Buffer
  #length = 0
  /** Memory that was taken and is free again: millions of rows need no more than two such, a small page needs one. */
  #spare: Buffer | undefined

  constructor(initialBytes: number) {
    this.#bytes = Buffer.allocUnsafe(initialBytes)
  }

  get length(): number {
    return this.#length
  }

  /** What was written. It holds until the next but one is taken: by then anyone who has it must be done with it. */
  take(): Buffer {
    const taken = this.#bytes
    const { length } = this
    this.#bytes = this.#spare ?? Buffer.allocUnsafe(taken.length)
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
    this.#room(10)
    let digits = 1
    for (let power = 10; power <= number; power *= 10) digits++
    let left = number
    for (let at = this.#length + digits - 1; at >= this.#length; at--) {
      const tenth = Math.trunc(left / 10)
      this.#bytes[at] = zero + left - tenth * 10
      left = tenth
    }
    this.#length += digits
  }

  /** A text of any characters, escaped as COPY needs it; null stands for no value. */
  text(value: string | null): void {
    const field = value === null ? '\\N' : copyField(value)
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

  /** A whole row, of two parts that are ready and bytes as they stand: for tables whose rows differ in little. */
  row(first: Uint8Array, second: Uint8Array, source: Uint8Array, from: number, to: number): void {
    this.#room(first.length + second.length + to - from + 1)
    const target = this.#bytes
    let length = this.#length
    for (let at = 0; at < first.length; at++) target[length++] = first[at] ?? 0
    for (let at = 0; at < second.length; at++) target[length++] = second[at] ?? 0
    for (let at = from; at < to; at++) target[length++] = source[at] ?? 0
    target[length++] = lineFeed
    this.#length = length
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
