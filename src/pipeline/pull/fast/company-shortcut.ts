import { levelsAround } from '../../reading/company-scanner.ts'
import { markWeight, type PageLimits } from '../../reading/page-limits.ts'
import type { CompanyPlace, Shortcut, SplitCompany } from '../../reading/split-page.ts'
import { BatchMemory } from './batch-memory.ts'
import type { ExpectedCompanies, MetCompany } from './expected-companies.ts'
import { type PlainCompany, type PlainCompanyReader, plainDepth } from './plain-company.ts'

/** A company as its bytes; with `plain` it was read already. */
export type CutCompany = SplitCompany & { plain?: PlainCompany }

type Expected = Pick<ExpectedCompanies, 'prepare' | 'meet'>

/**
 * What is known of a page's companies without a search for their end: those that are as they were, and those that are
 * written plainly. To read a company takes about as long as to look for its end alone.
 */
export class CompanyShortcut implements Shortcut<MetCompany | CutCompany> {
  readonly #expected: Expected
  readonly #reader: PlainCompanyReader
  /** Of companies that are read without being counted: with so many bytes no marks can make them too large. */
  readonly #maxBytes: number
  /** Where companies are kept. Anyone who takes one of them takes the memory, and puts another in its place. */
  memory = BatchMemory.take()

  constructor(
    expected: Expected,
    reader: PlainCompanyReader,
    { maxDepth, maxElementSize }: Pick<PageLimits, 'maxDepth' | 'maxElementSize'>,
  ) {
    this.#expected = expected
    this.#reader = reader
    this.#maxBytes = maxDepth < levelsAround + plainDepth ? 0 : Math.floor(maxElementSize / (1 + markWeight))
  }

  prepare(): Promise<void> {
    return this.#expected.prepare()
  }

  take(
    chunk: Uint8Array,
    at: number,
    place: CompanyPlace,
  ): { end: number; known: MetCompany | CutCompany } | undefined {
    const met = this.#expected.meet(chunk, at)
    if (met !== undefined) return met
    const before = this.memory.mark()
    const plain = this.#reader.read(chunk, at, this.memory)
    if (plain === undefined) return undefined
    const { bytes, keys } = plain
    if (bytes.length > this.#maxBytes) {
      this.memory.backTo(before)
      return undefined
    }
    const known = { kind: 'companyBytes' as const, bytes, ...place, keys, escapedKeys: false, gathered: false, plain }
    return { end: at + bytes.length, known }
  }

  /** A company whose bytes last as long as its batch. */
  keep(company: CutCompany): CutCompany {
    if (company.plain !== undefined || company.gathered) return company
    return { ...company, bytes: this.memory.keep(company.bytes, 0, company.bytes.length) }
  }

  /**
   * What was read of a company, or is read now: where the end of a chunk had cut it in two, or its size was to be
   * counted first. Undefined where it is not written plainly.
   */
  read(company: CutCompany, memory: BatchMemory): PlainCompany | undefined {
    const { plain, gathered, bytes } = company
    return plain === undefined && (gathered || bytes.length > this.#maxBytes)
      ? this.#reader.read(bytes, 0, memory)
      : plain
  }
}
