import { jsonByte } from '../../../exchange/json-bytes.ts'

const { backslash, colon, comma, quote, space, lineFeed, carriageReturn, tab } = jsonByte

const zero = 0x30
const nine = 0x39

/** Of each byte whether it is a hexadecimal digit (1), a dash (2) or neither (0). */
const uuidBytes = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte)
  return /[0-9a-fA-F]/.test(character) ? 1 : character === '-' ? 2 : 0
})
/** The same of each character of a UUID as text. */
const uuidForm = Uint8Array.from('00000000-0000-0000-0000-000000000000', (character) => (character === '-' ? 2 : 1))
/** Characters of a UUID as text. */
export const uuidLength = uuidForm.length

/**
 * Steps through JSON that is written plainly. Whatever it meets that is not plain (an escape, a control character, an
 * unexpected token, the end of its bytes) makes it answer false, or -1, and the whole is then read by a parser that
 * knows all of JSON.
 */
export class ByteCursor {
  bytes: Buffer = Buffer.alloc(0)
  /** The same bytes, for those who read several at once. */
  view = new DataView(this.bytes.buffer)
  #source: Uint8Array = this.bytes
  at = 0
  /** Keys stepped over since `go`. */
  keys = 0
  /** The text read last, between its quotes. */
  from = 0
  to = 0

  /** Goes to a place in some bytes. */
  go(bytes: Uint8Array, at: number): void {
    if (bytes !== this.#source) {
      this.#source = bytes
      this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    this.at = at
    this.keys = 0
  }

  /** Steps over whitespace and then `byte`. */
  take(byte: number): boolean {
    this.#space()
    if (this.bytes[this.at] !== byte) return false
    this.at++
    return true
  }

  /** Whether `byte` comes next, behind whitespace. */
  comes(byte: number): boolean {
    this.#space()
    return this.bytes[this.at] === byte
  }

  /** Behind an element: 1 when a comma comes, 0 when `closing` does, -1 when neither. */
  more(closing: number): number {
    this.#space()
    const byte = this.bytes[this.at++]
    return byte === comma ? 1 : byte === closing ? 0 : -1
  }

  /** A text without escapes, left between `from` and `to`. */
  text(): boolean {
    return this.take(quote) && this.rest()
  }

  /** The same, with the opening quote behind us. */
  rest(): boolean {
    const { bytes } = this
    let at = this.at
    this.from = at
    for (;;) {
      const byte = bytes[at]
      if (byte === quote) break
      if (byte === undefined || byte < space || byte === backslash) return false
      at++
    }
    this.to = at
    this.at = at + 1
    return true
  }

  /** A text as `text`, which holds more than spaces: what is blank is left out, which is for another reader to say. */
  filled(): boolean {
    if (!this.text()) return false
    let at = this.from
    while (at < this.to && this.bytes[at] === space) at++
    return at < this.to
  }

  /** A key and its colon: its place in `keys`, or -1 when it is none of them. */
  key(keys: readonly Uint8Array[]): number {
    if (!this.text()) return -1
    const { bytes, from, to } = this
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]
      if (key === undefined || key.length !== to - from) continue
      let at = 0
      while (at < key.length && key[at] === bytes[from + at]) at++
      if (at === key.length) return this.colon() ? index : -1
    }
    return -1
  }

  /** The colon behind a key. */
  colon(): boolean {
    this.keys++
    return this.take(colon)
  }

  /** A UUID in its usual form, in either case. */
  uuid(): boolean {
    if (!this.text() || this.to - this.from !== uuidLength) return false
    const { bytes, from } = this
    for (let index = 0; index < uuidLength; index++) {
      if (uuidBytes[bytes[from + index] ?? 0] !== uuidForm[index]) return false
    }
    return true
  }

  /** A year from 1 to 9999 as plain digits, or -1. */
  year(): number {
    this.#space()
    const start = this.at
    let year = 0
    for (;;) {
      const byte = this.bytes[this.at] ?? 0
      if (byte < zero || byte > nine || this.at - start === 4) break
      year = year * 10 + byte - zero
      this.at++
    }
    return this.at > start && this.bytes[start] !== zero ? year : -1
  }

  #space(): void {
    for (;;) {
      const byte = this.bytes[this.at]
      if (byte !== space && byte !== lineFeed && byte !== carriageReturn && byte !== tab) return
      this.at++
    }
  }
}
