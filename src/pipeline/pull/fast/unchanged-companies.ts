import type { Transaction } from 'kysely'
import type { Turns } from '../../../db/copy-ready.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { keepContentBytes, type UnchangedCompany } from '../merge/known-companies.ts'
import { markWholeSeen } from '../merge/mark-seen.ts'

/** Companies marked as seen in one statement, while others are read. */
const markedAtOnce = 4_000

/**
 * Companies of a page whose bytes are those of the last time: nothing of theirs is read or written, they are only
 * marked.
 */
export class UnchangedCompanies {
  readonly counts = { companies: 0, calculators: 0, values: 0 }
  /** By the names that were listed where they were last read: those names must be listed still. */
  readonly byListing = new Map<number, number[]>()
  readonly #trx: Transaction<Schema>
  readonly #submissionId: number
  readonly #turns: Turns
  #unmarked: number[] = []
  #unmeasured: { company_key: number; bytes: number }[] = []
  #marking: Promise<void> = Promise.resolve()

  /** @param turns of all that use the connection of the transaction at the same time. */
  constructor(trx: Transaction<Schema>, submissionId: number, turns: Turns) {
    this.#trx = trx
    this.#submissionId = submissionId
    this.#turns = turns
  }

  /** @param bytes of the page that it takes, where they were counted. */
  add({ company_key, content_bytes, listing_key, calculators, values }: UnchangedCompany, bytes?: number): void {
    if (content_bytes === null && bytes !== undefined) this.#unmeasured.push({ company_key, bytes })
    const keys = this.byListing.get(listing_key)
    if (keys === undefined) this.byListing.set(listing_key, [company_key])
    else keys.push(company_key)
    this.#unmarked.push(company_key)
    this.counts.companies++
    this.counts.calculators += calculators
    this.counts.values += values
  }

  /** Begins to mark what was added, if it is worth a statement, once the one before is done. */
  async drain(): Promise<void> {
    if (this.#unmarked.length >= markedAtOnce) await this.#markNext()
  }

  /** Marks all that was added. @throws as `markWholeSeen` does. */
  async flush(): Promise<void> {
    await this.#markNext()
    await this.#marking
  }

  async #markNext(): Promise<void> {
    await this.#marking
    const [companyKeys, unmeasured] = [this.#unmarked, this.#unmeasured]
    this.#unmarked = []
    this.#unmeasured = []
    this.#marking = this.#turns.take(async () => {
      await markWholeSeen(this.#trx, this.#submissionId, companyKeys)
      await keepContentBytes(this.#trx, unmeasured)
    })
    // Anyone who drains or flushes next is told.
    this.#marking.catch(() => {})
  }
}
