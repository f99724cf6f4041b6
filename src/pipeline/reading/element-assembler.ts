import { getManyValues, isMany, none } from 'stream-chain/defs.js'
import { jsonParser, type parser } from 'stream-json/core/parser.js'
import { markWeight, type PageFormatError, type PageLimits } from './page-limits.ts'

export type Token = parser.Token

/** Stands where an object gave the same key twice: neither value can be trusted to be the one that was meant. */
export const doubledKey = Symbol('doubled key')

type Container = unknown[] | Record<string, unknown>

/**
 * Builds one list element from tokens, within `limits.maxElementSize`: its characters, and `markWeight` for each key,
 * each object or array, and each value inside one. However the tokens were cut, that is never more than what
 * `CompanyScanner` counts, so that a company which it lets pass is not refused here.
 *
 * Objects have no prototype, so that a key such as `__proto__` is a key like any other.
 */
export class ElementAssembler {
  readonly #maxSize: number
  #open: { container: Container; key: string }[] = []
  #text = ''
  #size = 0
  #value: unknown

  constructor(limits: Pick<PageLimits, 'maxElementSize'>) {
    this.#maxSize = limits.maxElementSize
  }

  /** The element, once `push` has returned 'whole'. */
  take(): unknown {
    const value = this.#value
    this.#value = undefined
    this.#size = 0
    return value
  }

  /** @returns 'whole' when the token ended the element, 'too_large' when the element outgrew its limit. */
  push(token: Token): 'open' | 'whole' | 'too_large' {
    switch (token.name) {
      case 'startObject':
        return this.#enter(Object.create(null) as Record<string, unknown>)
      case 'startArray':
        return this.#enter([])
      case 'endObject':
      case 'endArray':
        this.#open.pop()
        return this.#state()
      case 'startKey':
      case 'startString':
      case 'startNumber':
        this.#text = ''
        return this.#state(true)
      case 'stringChunk':
      case 'numberChunk':
        this.#text += token.value
        this.#size += token.value.length
        return this.#state(true)
      case 'endKey': {
        this.#size += markWeight
        const frame = this.#open.at(-1)
        if (frame !== undefined) frame.key = this.#text
        return this.#state()
      }
      case 'endString':
        return this.#put(this.#text)
      case 'endNumber':
        return this.#put(Number(this.#text))
      case 'trueValue':
      case 'falseValue':
      case 'nullValue':
        return this.#put(token.value)
      default:
        return this.#state()
    }
  }

  #enter(container: Container): 'open' | 'whole' | 'too_large' {
    this.#size += markWeight
    this.#put(container)
    this.#open.push({ container, key: '' })
    return this.#state()
  }

  #put(value: unknown): 'open' | 'whole' | 'too_large' {
    const frame = this.#open.at(-1)
    if (frame === undefined) {
      this.#value = value
      return this.#state()
    }
    this.#size += markWeight
    if (Array.isArray(frame.container)) frame.container.push(value)
    else frame.container[frame.key] = frame.key in frame.container ? doubledKey : value
    return this.#state()
  }

  #state(insideText = false): 'open' | 'whole' | 'too_large' {
    if (this.#size > this.#maxSize) return 'too_large'
    return this.#open.length === 0 && !insideText ? 'whole' : 'open'
  }
}

/**
 * Tokens of a document that arrives in pieces: strict UTF-8, one byte-order mark at its start ignored, and strict JSON.
 */
export class TokenReader {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  readonly #parse = jsonParser({ packValues: false })
  readonly #refusal: (reason: string, cause: unknown) => PageFormatError

  /** @param refusal makes the error to throw: it knows the place. */
  constructor(refusal: (reason: string, cause: unknown) => PageFormatError) {
    this.#refusal = refusal
  }

  read(bytes: Uint8Array): Token[] {
    return this.#tokens(this.#decode(bytes))
  }

  /** The tokens that only the end has made certain, such as a number's. */
  end(): Token[] {
    return [...this.#tokens(this.#decode()), ...this.#tokens(none)]
  }

  #decode(bytes?: Uint8Array): string {
    try {
      return bytes === undefined ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true })
    } catch (error) {
      throw this.#refusal('its bytes are not UTF-8', error)
    }
  }

  #tokens(text: string | typeof none): Token[] {
    try {
      // A flushable stage is ended by calling it with `none`, which its type does not say.
      const parsed = this.#parse(text as string)
      return isMany(parsed) ? (getManyValues(parsed) as Token[]) : []
    } catch (error) {
      throw this.#refusal(`its text is not JSON (${(error as Error).message})`, error)
    }
  }
}
