import { jsonByte } from '../../exchange/json-bytes.ts'
import { markWeight, type PageLimits } from './page-limits.ts'

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

/** Levels around a company: the page and its list. */
export const levelsAround = 2

/**
 * Finds where a company ends, in bytes that arrive in pieces of any size. It counts brackets outside of texts and
 * judges nothing else: what it finds may be no JSON, but if it is JSON, then it is exactly one object.
 *
 * In UTF-8 a byte below 0x80 is always a character of its own, so that text need not be decoded to be skipped.
 */
export class CompanyScanner {
  readonly #maxDepth: number
  readonly #maxSize: number
  #depth = 0
  #bytes = 0
  #keys = 0
  #marks = 0
  #insideText = false
  /** Whether the text that is open, or was last, holds an escape. */
  #escapes = false
  #escapedKeys = false
  /** Whether the next byte stands behind a backslash. */
  #escaped = false

  constructor(limits: Pick<PageLimits, 'maxDepth' | 'maxElementSize'>) {
    this.#maxDepth = limits.maxDepth - levelsAround
    this.#maxSize = limits.maxElementSize
  }

  /** Whether a company has begun and not ended. */
  get open(): boolean {
    return this.#depth > 0
  }

  /** Colons outside of texts so far: the keys of all objects of the company. */
  get keys(): number {
    return this.#keys
  }

  /** Whether a key of the company is spelt with an escape. */
  get escapedKeys(): boolean {
    return this.#escapedKeys
  }

  get tooDeep(): boolean {
    return this.#depth > this.#maxDepth
  }

  get tooLarge(): boolean {
    return this.#bytes + this.#marks * markWeight > this.#maxSize
  }

  /** Makes ready for the next company: its opening brace is the first byte of the next `scan`. */
  begin(): void {
    this.#bytes = 0
    this.#keys = 0
    this.#marks = 0
    this.#escapedKeys = false
  }

  /**
   * @returns the index behind the last byte of the company, the length of `piece` if it does not end there, or where it
   *   got too deep.
   */
  scan(piece: Uint8Array, from: number): number {
    const end = piece.length
    const lastFour = end - 4
    const maxDepth = this.#maxDepth
    let depth = this.#depth
    let keys = 0
    let marks = 0
    let insideText = this.#insideText
    let escapes = this.#escapes
    let escapedKeys = this.#escapedKeys
    let at = this.#escaped ? from + 1 : from
    while (at < end) {
      if (insideText) {
        // Most of a company stands inside of texts. Four bytes a turn take two thirds of the time that one takes.
        while (
          at <= lastFour &&
          piece[at] !== quote &&
          piece[at] !== backslash &&
          piece[at + 1] !== quote &&
          piece[at + 1] !== backslash &&
          piece[at + 2] !== quote &&
          piece[at + 2] !== backslash &&
          piece[at + 3] !== quote &&
          piece[at + 3] !== backslash
        ) {
          at += 4
        }
        while (at < end && piece[at] !== quote && piece[at] !== backslash) at++
        if (at === end) break
        if (piece[at++] === quote) {
          insideText = false
        } else {
          escapes = true
          at++
        }
        continue
      }
      const byte = piece[at++]
      if (byte === quote) {
        insideText = true
        escapes = false
      } else if (byte === colon) {
        keys++
        if (escapes) escapedKeys = true
      } else if (byte === comma) marks++
      else if (byte === openBrace || byte === openBracket) {
        marks++
        if (++depth > maxDepth) break
      } else if (byte === closeBrace || byte === closeBracket) {
        marks++
        if (--depth === 0) break
      }
    }
    // A backslash as the last byte has carried `at` one too far: what it escapes is the first of the next piece.
    this.#escaped = at > end
    if (this.#escaped) at = end
    this.#insideText = insideText
    this.#escapes = escapes
    this.#escapedKeys = escapedKeys
    this.#depth = depth
    this.#bytes += at - from
    this.#keys += keys
    this.#marks += marks + keys
    return at
  }
}

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
