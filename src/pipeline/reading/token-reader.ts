import { getManyValues, isMany, none } from 'stream-chain/defs.js'
import { jsonParser } from 'stream-json/core/parser.js'
import type { Token } from './element-assembler.ts'
import type { PageFormatError } from './page-format-error.ts'

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
