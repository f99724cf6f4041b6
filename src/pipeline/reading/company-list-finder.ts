import { jsonByte } from '../../exchange/json-bytes.ts'

const {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  space,
  lineFeed,
  carriageReturn,
  tab,
} = jsonByte

const whiteSpace: ReadonlySet<number> = new Set([space, lineFeed, carriageReturn, tab])

/**
 * Follows a page outside of its companies and finds where one begins: an opening brace as an element of the list under
 * the top-level key `list`, spelt in the bytes that JSON.stringify gives it. It judges nothing: everywhere else, and on
 * a page that is no JSON, what it says means nothing.
 */
export class CompanyListFinder {
  readonly #key: Uint8Array
  #depth = 0
  #insideText = false
  #escaped = false
  /** Bytes of the key that a text of the top level agrees with so far; -1: it is another. */
  #agreed = -1
  #next: 'anything' | 'colon' | 'list' = 'anything'
  #insideList = false
  #ordinal = 0

  constructor(list: string) {
    this.#key = Buffer.from(JSON.stringify(list))
  }

  /** Position in the list of the company that begins where `find` stopped. */
  get ordinal(): number {
    return this.#ordinal
  }

  /** @returns the index of a company's opening brace, to go on behind its closing one; or the length of `piece`. */
  find(piece: Uint8Array, from: number): number {
    for (let at = from; at < piece.length; at++) {
      const byte = piece[at]
      if (byte === undefined) break
      if (this.#insideText) this.#readText(byte)
      else if (byte === openBrace && this.#insideList && this.#depth === 2) return at
      else if (!whiteSpace.has(byte)) this.#readMark(byte)
    }
    return piece.length
  }

  #readText(byte: number): void {
    if (this.#agreed >= 0) this.#agreed = byte === this.#key[this.#agreed] ? this.#agreed + 1 : -1
    if (this.#escaped) this.#escaped = false
    else if (byte === backslash) this.#escaped = true
    else if (byte === quote) {
      this.#insideText = false
      if (this.#agreed === this.#key.length) this.#next = 'colon'
    }
  }

  #readMark(byte: number): void {
    const expected = this.#next
    this.#next = 'anything'
    if (byte === quote) {
      this.#insideText = true
      this.#agreed = this.#depth === 1 ? 1 : -1
    } else if (byte === colon) {
      if (expected === 'colon') this.#next = 'list'
    } else if (byte === openBrace || byte === openBracket) {
      this.#depth++
      if (expected === 'list' && byte === openBracket) {
        this.#insideList = true
        this.#ordinal = 0
      }
    } else if (byte === closeBrace || byte === closeBracket) {
      this.#depth--
      if (this.#depth < 2) this.#insideList = false
    } else if (byte === comma && this.#insideList && this.#depth === 2) {
      this.#ordinal++
    }
  }
}
