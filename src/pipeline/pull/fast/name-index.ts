import { jsonByte } from '../../../exchange/json-bytes.ts'
import type { NameKeys } from '../merge/key-blocks.ts'
import { NeedsCare } from './needs-care.ts'

const { backslash, quote, space } = jsonByte

/** Ids remembered at once: real pages have some hundreds, and a hostile one must not fill the heap. */
export const maxNames = 50_000

/** How many ids are tried in the order in which they came the last time, before one is looked up. */
const guesses = 3

/**
 * The ids of the variables or properties that new companies of a page refer to, each with a number from 0 and, once
 * resolved, its key. Ids come in nearly the same order again and again, so that the next is guessed and compared
 * where it stands, and no text is made of it.
 */
export class NameIndex {
  readonly #keys: NameKeys
  readonly #numbers = new Map<string, number>()
  readonly #ids: string[] = []
  /** Undefined where the id is not written as it is: such a one is never guessed. */
  readonly #spelt: (Spelling | undefined)[] = []
  readonly #resolved: number[] = []
  readonly #used: boolean[] = []
  /** Which came behind each the last time. */
  readonly #next: number[] = []
  #last = 0
  #pending: number[] = []

  constructor(keys: NameKeys) {
    this.#keys = keys
  }

  /** The number of an id. @throws {NeedsCare} where there is no room for it. */
  numberOf(id: string): number {
    const known = this.#numbers.get(id)
    if (known !== undefined) return known
    if (this.#ids.length >= maxNames) throw new NeedsCare('many_names')
    const number = this.#ids.push(id) - 1
    this.#numbers.set(id, number)
    this.#spelt.push(spellingOf(id))
    this.#next.push(0)
    this.#pending.push(number)
    return number
  }

  /** How long the id of this number is, in bytes. */
  lengthOf(number: number): number {
    return this.#spelt[number]?.length ?? 0
  }

  /** The number of an id that begins at `from` and ends in a quote, if it is one of those that should come; else -1. */
  guess(source: DataView, from: number): number {
    let number = this.#next[this.#last] ?? -1
    for (let tried = 0; tried < guesses && number >= 0; tried++) {
      if (this.#stands(number, source, from)) {
        this.#follow(number)
        return number
      }
      number = this.#next[number] ?? -1
    }
    return -1
  }

  /**
   * The number of an id that was not guessed: text without escapes, in valid UTF-8. -1 where there is no room for it:
   * the company may be one that is as it was, whose names nobody needs.
   */
  lookUp(source: DataView, from: number, to: number): number {
    const id = Buffer.from(source.buffer, source.byteOffset + from, to - from).toString()
    if (this.#ids.length >= maxNames && !this.#numbers.has(id)) return -1
    const number = this.numberOf(id)
    this.#follow(number)
    return number
  }

  /** Finds or makes the keys of all ids that have come since the last time. */
  async resolve(): Promise<void> {
    if (this.#pending.length === 0) return
    const ids = this.#pending.map((number) => this.#ids[number] ?? '')
    await this.#keys.resolve(ids)
    for (const [index, number] of this.#pending.entries())
      this.#resolved[number] = this.#keys.keyOf(ids[index] ?? '') ?? -1
    this.#pending = []
  }

  /** The key of a resolved id, which counts as referred to from now on. */
  keyOf(number: number): number {
    this.#used[number] = true
    const key = this.#resolved[number] ?? -1
    if (key < 0) throw new Error(`the name ${this.#ids[number]} was not resolved`)
    return key
  }

  /** The keys of all that is referred to. */
  referred(): number[] {
    return this.#resolved.filter((_, number) => this.#used[number] === true)
  }

  #follow(number: number): void {
    this.#next[this.#last] = number
    this.#last = number
  }

  #stands(number: number, source: DataView, from: number): boolean {
    const id = this.#spelt[number]
    if (id === undefined || from + id.length >= source.byteLength) return false
    const { words, rest } = id
    let at = from
    for (let index = 0; index < words.length; index++, at += 4) {
      if (source.getInt32(at) !== words[index]) return false
    }
    for (let index = 0; index < rest.length; index++, at++) {
      if (source.getUint8(at) !== rest[index]) return false
    }
    return source.getUint8(at) === quote
  }
}

/** An id as it is written: four bytes a word, and what is left of them. A word is compared as fast as a byte. */
type Spelling = { length: number; words: Int32Array; rest: Uint8Array }

function spellingOf(id: string): Spelling | undefined {
  const bytes = Buffer.from(id)
  if (bytes.some(isSpecial)) return undefined
  const words = Int32Array.from({ length: Math.floor(bytes.length / 4) }, (_, word) => bytes.readInt32BE(word * 4))
  return { length: bytes.length, words, rest: Uint8Array.from(bytes.subarray(words.length * 4)) }
}

function isSpecial(byte: number): boolean {
  return byte === quote || byte === backslash || byte < space
}
