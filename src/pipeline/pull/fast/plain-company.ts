import { isUtf8 } from 'node:buffer'
import type { Contract } from '../../../exchange/contract.ts'
import { jsonByte } from '../../../exchange/json-bytes.ts'
import { monthNumber } from '../../../exchange/wire-value.ts'
import type { BatchMemory } from './batch-memory.ts'
import { ByteCursor } from './byte-cursor.ts'
import type { NameIndex } from './name-index.ts'

const { backslash, closeBrace, closeBracket, colon, openBrace, openBracket, quote, space } = jsonByte

/** Longer ids are for `idProblem` to judge. */
const maxIdBytes = 200

/** Numbers that stand for one calculator and for one value in `PlainCompany.tape`. */
export const calculatorWidth = 7
export const valueWidth = 3
export const propertyWidth = 4

/**
 * A company that is written plainly and of which nothing is left out, as places in its bytes. The tape holds from
 * `tapeFrom`: its properties (number of the name, ordinal, from, to each), then its calculators (where the id, the type
 * and the title begin, where the title ends, year, month or 0, number of values), each with its values behind it (twice
 * the number of the name, and 1 more for outputs; from; to).
 */
export type PlainCompany = {
  companyId: string
  bytes: Buffer
  /** The same bytes, for those who copy several at once. */
  view: DataView
  /** In all of its objects. */
  keys: number
  nameFrom: number
  nameTo: number
  properties: number
  calculators: number
  values: number
  memory: BatchMemory
  tapeFrom: number
}

/** Which keys of an object were found, as bits in the order of their names. */
const companyKeys = ['id', 'name', 'calculators', 'fields'] as const
const calculatorKeys = ['id', 'typeId', 'title', 'period', 'inputs', 'outputs'] as const
const periodKeys = ['year', 'month'] as const

/** Levels of objects and lists within a company that is written plainly, itself included. */
export const plainDepth = 4

/**
 * Reads new companies straight from their bytes into numbers, without making objects of them. It knows only the plain
 * form: every field of the specification and no other, no escapes, nothing that would be left out. For any other it
 * answers undefined, and `parseCompany` and `pageCompany` say what the company is; where it does answer, they would
 * have read the same. See "Calculator search result page" in the specification.
 */
export class PlainCompanyReader {
  readonly #cursor = new ByteCursor()
  readonly #names: Record<'company' | 'calculator' | 'period', Uint8Array[]>
  readonly #variables: NameIndex
  readonly #properties: NameIndex
  /** When a name was last met, so that one that comes twice is noticed. */
  readonly #metVariables: number[] = []
  readonly #metProperties: number[] = []
  #group = 0
  #memory!: BatchMemory
  /** Where the company begins: its places are counted from here. */
  #start = 0

  constructor(contract: Contract, names: { variables: NameIndex; properties: NameIndex }) {
    const spelt = contract.names.calculatorsPage
    const bytesOf = (keys: readonly (keyof typeof spelt)[]) => keys.map((key) => Buffer.from(spelt[key]))
    this.#names = { company: bytesOf(companyKeys), calculator: bytesOf(calculatorKeys), period: bytesOf(periodKeys) }
    this.#variables = names.variables
    this.#properties = names.properties
  }

  /**
   * The company that begins at `at`, kept in `memory`; or undefined where it is not written plainly. The bytes may go
   * on behind it, and need not last.
   */
  read(bytes: Uint8Array, at: number, memory: BatchMemory): PlainCompany | undefined {
    this.#cursor.go(bytes, at)
    this.#start = at
    this.#memory = memory
    const before = memory.mark()
    const company = this.#company()
    if (company === undefined) memory.backTo(before)
    return company
  }

  #company(): PlainCompany | undefined {
    const cursor = this.#cursor
    const start = this.#start
    const company = { companyId: '', nameFrom: 0, nameTo: 0, properties: 0, calculators: 0, values: 0 }
    const tapeFrom = this.#memory.tape.length
    let found = 0
    if (!cursor.take(openBrace)) return undefined
    for (let more = 1; more !== 0; more = cursor.more(closeBrace)) {
      if (more < 0) return undefined
      const key = cursor.key(this.#names.company)
      if (key < 0 || (found & (1 << key)) !== 0) return undefined
      found |= 1 << key
      if (key === 0) {
        if (!cursor.uuid()) return undefined
        company.companyId = this.#latin1().toLowerCase()
      } else if (key === 1) {
        if (!cursor.filled()) return undefined
        company.nameFrom = cursor.from - start
        company.nameTo = cursor.to - start
      } else if (key === 2) {
        if (!this.#calculators(company)) return undefined
      } else {
        // The tape has the properties first: where they come behind the calculators, the company is read the other way.
        if ((found & 0b100) !== 0) return undefined
        const properties = this.#fields()
        if (properties < 0) return undefined
        company.properties = properties
      }
    }
    if ((found & 0b111) !== 0b111) return undefined
    const bytes = this.#memory.keep(cursor.bytes, start, cursor.at)
    if (!isUtf8(bytes)) return undefined
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return { ...company, bytes, view, keys: cursor.keys, memory: this.#memory, tapeFrom }
  }

  /** How many property values there are, or -1. */
  #fields(): number {
    const cursor = this.#cursor
    const { tape } = this.#memory
    const group = ++this.#group
    let count = 0
    if (!cursor.take(openBrace)) return -1
    if (cursor.comes(closeBrace)) return cursor.take(closeBrace) ? 0 : -1
    for (let more = 1; more !== 0; more = cursor.more(closeBrace)) {
      const name = more < 0 ? -1 : this.#name(this.#properties)
      if (name < 0 || this.#metProperties[name] === group) return -1
      this.#metProperties[name] = group
      if (!cursor.take(openBracket)) return -1
      if (cursor.comes(closeBracket)) {
        cursor.take(closeBracket)
        continue
      }
      let ordinal = 0
      for (let next = 1; next !== 0; next = cursor.more(closeBracket)) {
        if (next < 0 || !cursor.filled()) return -1
        const at = tape.grow(propertyWidth)
        tape.numbers[at] = name
        tape.numbers[at + 1] = ++ordinal
        tape.numbers[at + 2] = cursor.from - this.#start
        tape.numbers[at + 3] = cursor.to - this.#start
        count++
      }
    }
    return count
  }

  #calculators(counts: { calculators: number; values: number }): boolean {
    const cursor = this.#cursor
    if (!cursor.take(openBracket)) return false
    if (cursor.comes(closeBracket)) return cursor.take(closeBracket)
    for (let more = 1; more !== 0; more = cursor.more(closeBracket)) {
      const values = more < 0 ? -1 : this.#calculator()
      if (values < 0) return false
      counts.calculators++
      counts.values += values
    }
    return true
  }

  /** How many values there are, or -1. */
  #calculator(): number {
    const cursor = this.#cursor
    const { tape } = this.#memory
    const head = tape.grow(calculatorWidth)
    let found = 0
    let values = 0
    if (!cursor.take(openBrace)) return -1
    for (let more = 1; more !== 0; more = cursor.more(closeBrace)) {
      const key = more < 0 ? -1 : cursor.key(this.#names.calculator)
      if (key < 0 || (found & (1 << key)) !== 0) return -1
      found |= 1 << key
      if (key < 2) {
        if (!cursor.uuid()) return -1
        tape.numbers[head + key] = cursor.from - this.#start
      } else if (key === 2) {
        if (!cursor.filled()) return -1
        tape.numbers[head + 2] = cursor.from - this.#start
        tape.numbers[head + 3] = cursor.to - this.#start
      } else if (key === 3) {
        if (!this.#period(head)) return -1
      } else {
        const count = this.#values(key - 4)
        if (count < 0) return -1
        values += count
      }
    }
    tape.numbers[head + 6] = values
    return (found & 0b1111) === 0b1111 ? values : -1
  }

  #period(head: number): boolean {
    const cursor = this.#cursor
    let found = 0
    let year = 0
    let month = 0
    if (!cursor.take(openBrace)) return false
    for (let more = 1; more !== 0; more = cursor.more(closeBrace)) {
      const key = more < 0 ? -1 : cursor.key(this.#names.period)
      if (key < 0 || (found & (1 << key)) !== 0) return false
      found |= 1 << key
      if (key === 0) year = cursor.year()
      else month = cursor.text() ? (monthNumber(this.#latin1()) ?? -1) : -1
      if (year < 0 || month < 0) return false
    }
    this.#memory.tape.numbers[head + 4] = year
    this.#memory.tape.numbers[head + 5] = month
    return (found & 1) === 1
  }

  /** How many values a group has, or -1. */
  #values(direction: number): number {
    const cursor = this.#cursor
    const { tape } = this.#memory
    const met = this.#metVariables
    const start = this.#start
    const group = ++this.#group
    let count = 0
    if (!cursor.take(openBrace)) return -1
    if (cursor.comes(closeBrace)) return cursor.take(closeBrace) ? 0 : -1
    for (let more = 1; more !== 0; more = cursor.more(closeBrace)) {
      const name = more < 0 ? -1 : this.#value()
      if (name < 0 || met[name] === group) return -1
      met[name] = group
      const at = tape.grow(valueWidth)
      const { numbers } = tape
      numbers[at] = name * 2 + direction
      numbers[at + 1] = cursor.from - start
      numbers[at + 2] = cursor.to - start
      count++
    }
    return count
  }

  /**
   * One value and the id of its variable before it: the number of the id, or -1. Nearly all of a page are such, and
   * nearly all of them are written without white space, by an id that is guessed.
   */
  #value(): number {
    const cursor = this.#cursor
    const { bytes, view, at } = cursor
    const names = this.#variables
    const isText = bytes[at] === quote
    const number = isText ? names.guess(view, at + 1) : -1
    if (number < 0) {
      if (isText) cursor.at = at + 1
      const name = isText ? this.#unguessed(names) : this.#name(names)
      return name >= 0 && cursor.filled() ? name : -1
    }
    const behind = at + names.lengthOf(number) + 2
    const from = behind + 2
    if (bytes[behind] === colon && bytes[behind + 1] === quote && bytes[from] !== space && bytes[from] !== quote) {
      let to = from
      for (let byte = bytes[to]; byte !== quote; byte = bytes[++to]) {
        if (byte === undefined || byte < space || byte === backslash) return -1
      }
      cursor.keys++
      cursor.from = from
      cursor.to = to
      cursor.at = to + 1
      return number
    }
    cursor.at = behind
    return cursor.colon() && cursor.filled() ? number : -1
  }

  /** A key that is an id, and its colon: the number of the id, or -1. */
  #name(names: NameIndex): number {
    const cursor = this.#cursor
    if (!cursor.take(quote)) return -1
    const number = names.guess(cursor.view, cursor.at)
    if (number < 0) return this.#unguessed(names)
    cursor.at += names.lengthOf(number) + 1
    return cursor.colon() ? number : -1
  }

  /** The same of an id that is not one of those that should come, its opening quote behind us. */
  #unguessed(names: NameIndex): number {
    const cursor = this.#cursor
    if (!cursor.rest()) return -1
    const { from, to } = cursor
    if (to === from || to - from > maxIdBytes || !isUtf8(cursor.bytes.subarray(from, to))) return -1
    const number = names.lookUp(cursor.view, from, to)
    return cursor.colon() ? number : -1
  }

  /** The text read last, where only letters of ASCII will do. */
  #latin1(): string {
    const { bytes, from, to } = this.#cursor
    return bytes.toString('latin1', from, to)
  }
}
