import { jsonByte } from '../../../exchange/json-bytes.ts'

const { backslash, colon, comma, quote, space, lineFeed, carriageReturn, tab } = jsonByte

const zero = 0x30
const nine = 0x39

/** Bytes of hexadecimal digits; of others 0. */
const hexadecimal = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9a-fA-F]/.test(String.fromCharCode(byte)) ? 1 : 0,
)
const dashes = [8, 13, 18, 23]
/** Characters of a UUID as text. */
export const uuidLength = 36

/**
 * Steps through JSON that is written plainly. Whatever it meets that is not plain (an escape, a control character, an
 * unexpected token) makes it answer false, or -1, and the whole is then read by a parser that knows all of JSON.
 */
export class ByteCursor {
  bytes: Buffer = Buffer.alloc(0)
  at = 0
  /** The text read last, between its quotes. */
  from = 0
  to = 0

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
    if (!this.take(quote)) return false
    return this.rest()
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
      if (at === key.length) return this.take(colon) ? index : -1
    }
    return -1
  }

  /** A UUID in its usual form, in either case. */
  uuid(): boolean {
    if (!this.text() || this.to - this.from !== uuidLength) return false
    for (let index = 0; index < uuidLength; index++) {
      const byte = this.bytes[this.from + index] ?? 0
      if (hexadecimal[byte] !== 1 && !(byte === 0x2d && dashes.includes(index))) return false
    }
    return dashes.every((index) => this.bytes[this.from + index] === 0x2d)
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
