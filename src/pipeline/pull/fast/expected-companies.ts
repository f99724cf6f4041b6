import type { Database } from '../../../db/database.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { uuidOf } from '../../../exchange/wire-value.ts'
import { type ContentHash, type ExpectedCompany, listExpected } from '../merge/known-companies.ts'
import { uuidLength } from './byte-cursor.ts'

/** A company that was met as it was the last time. */
export type MetCompany = { kind: 'companyMet'; company: ExpectedCompany }

/** Companies that are looked up at a time. More cost memory, fewer a round trip more often. */
const windowSize = 2_000

/** Companies that may pass unexpected before it is looked up where the page stands; doubled while that is no use. */
const fewestStrangers = 16

/**
 * Expects a page to show companies in the order in which they were first shown, from the one on that it begins with. A
 * page in another order is only looked up more and more seldom: what is not met here is read as if nothing were known.
 *
 * What it says of a company is what was committed when it was looked up, some thousands of companies before it is met.
 */
export class ExpectedCompanies {
  readonly #aside: Database
  readonly #hashOf: ContentHash
  /** What a company begins with, up to its id. */
  readonly #opening: Buffer
  readonly #byId = new Map<string, ExpectedCompany>()
  /** The key behind which the next window begins; null where the page was not found, or no company comes any more. */
  #lastKey: number | null = null
  #coming: Promise<ExpectedCompany[]> | null = null
  /** A company that was not expected: the page stands there. */
  #stranger: string | null = null
  #strangers = fewestStrangers
  #patience = fewestStrangers

  constructor(aside: Database, contract: Contract, hashOf: ContentHash) {
    this.#aside = aside
    this.#hashOf = hashOf
    this.#opening = Buffer.from(`{"${contract.names.calculatorsPage.id}":"`)
  }

  /** Makes ready for the next chunk of the page. */
  async prepare(): Promise<void> {
    if (this.#coming !== null && this.#byId.size < windowSize / 2) this.#take(await this.#coming)
    else if (this.#stranger !== null) await this.#begin(this.#stranger)
    this.#stranger = null
  }

  /**
   * Whether the company that begins at `at` is, byte for byte, one that was cut out of a page before: what was within
   * the limits then is so now.
   */
  meet(chunk: Uint8Array, at: number): { end: number; known: MetCompany } | undefined {
    const id = this.#idAt(chunk, at)
    if (id === undefined) return undefined
    const expected = this.#byId.get(id)
    if (expected === undefined) {
      if (++this.#strangers > this.#patience) this.#stranger = id
      return undefined
    }
    this.#byId.delete(id)
    this.#strangers = 0
    this.#patience = fewestStrangers
    const end = at + expected.content_bytes
    if (end > chunk.length || this.#hashOf(chunk.subarray(at, end)) !== expected.content_hash) return undefined
    return { end, known: { kind: 'companyMet', company: expected } }
  }

  /** The id with which the company at `at` begins, if it is spelt as in the database. */
  #idAt(chunk: Uint8Array, at: number): string | undefined {
    const from = at + this.#opening.length
    if (from + uuidLength > chunk.length) return undefined
    for (let index = 0; index < this.#opening.length; index++) {
      if (chunk[at + index] !== this.#opening[index]) return undefined
    }
    return Buffer.from(chunk.buffer, chunk.byteOffset + from, uuidLength).toString('latin1')
  }

  async #begin(companyId: string): Promise<void> {
    this.#byId.clear()
    this.#lastKey = null
    this.#coming = null
    this.#strangers = 0
    this.#patience *= 2
    if (uuidOf(companyId) === companyId) this.#take(await listExpected(this.#aside, { companyId }, windowSize))
  }

  /** Adds a window, and asks for the one behind it. */
  #take(window: readonly ExpectedCompany[]): void {
    for (const company of window) this.#byId.set(company.company_id, company)
    this.#lastKey = window.length < windowSize ? null : (window.at(-1)?.company_key ?? null)
    this.#coming = this.#lastKey === null ? null : listExpected(this.#aside, { afterKey: this.#lastKey }, windowSize)
    // Anyone who prepares for the next chunk is told.
    this.#coming?.catch(() => {})
  }
}
