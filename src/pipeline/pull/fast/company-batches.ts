import { setImmediate as turn } from 'node:timers/promises'
import type { Transaction } from 'kysely'
import type { Database, Turns } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { PageLimits } from '../../reading/page-limits.ts'
import type { PageElement } from '../../reading/read-page.ts'
import { parseCompany } from '../../reading/split-page.ts'
import {
  type Content,
  type ContentHash,
  findByContent,
  findById,
  keepContentBytes,
  markWholeSeen,
  type UnchangedCompany,
} from '../merge/known-companies.ts'
import { type DecodedCompany, type PageCompany, pageCompany } from '../page-company.ts'
import type { createPageStager } from '../stage-page.ts'
import type { BatchMemory } from './batch-memory.ts'
import type { CompanyShortcut, CutCompany } from './company-shortcut.ts'
import type { DirectCompanies } from './direct-companies.ts'
import type { NameIndex } from './name-index.ts'
import type { PlainCompany } from './plain-company.ts'

/** A company of the page: its bytes, or parsed where the page could not be cut. */
export type CompanyElement = CutCompany | PageElement

/** Companies, what they stand on, and which of their contents are known. */
export type AskedBatch = {
  elements: readonly CompanyElement[]
  memory: BatchMemory
  contents: readonly (Content | null)[]
  known: Promise<ReadonlyMap<string, UnchangedCompany>>
}

/** What was read of a batch, and which of it is there already. */
export type ReadBatch = {
  companies: readonly ReadCompany[]
  memory: BatchMemory
  existing: Promise<ReadonlySet<string>>
}

/** A company of which nothing was left out: either as places in its bytes or decoded. */
type ReadCompany = {
  element: CompanyElement
  content: Content | null
  companyId: string
  plain?: PlainCompany
  company?: PageCompany
}

/**
 * Companies that are worked on before others have their turn: a COPY that is under way waits for its next bytes, and
 * one that has ended for the next.
 */
const companiesPerTurn = 16

type Reading = {
  aside: Database
  contract: Contract
  limits: PageLimits
  shortcut: CompanyShortcut
  stager: ReturnType<typeof createPageStager>
  unchanged: UnchangedCompanies
}

/**
 * The second stage of a fast load: marks what is unchanged, decodes what is not written plainly, and asks which of the
 * rest is in the tables. A company of which something is left out is staged at once.
 */
export class CompanyReading {
  readonly #with: Reading

  constructor(reading: Reading) {
    this.#with = reading
  }

  async read({ elements, memory, contents, known }: AskedBatch): Promise<ReadBatch> {
    const unchangedByHash = await known
    const companies: ReadCompany[] = []
    for (const [index, element] of elements.entries()) {
      if (index % companiesPerTurn === companiesPerTurn - 1) await turn()
      const content = contents[index] ?? null
      const same = content === null ? undefined : unchangedByHash.get(content.hash)
      if (same !== undefined) this.#with.unchanged.add(same, content?.bytes)
      else {
        const company = this.#readCompany(element, content, memory)
        if (company !== undefined) companies.push(company)
      }
    }
    const existing = findById(
      this.#with.aside,
      companies.map(({ companyId }) => companyId),
    )
    existing.catch(() => {})
    return { companies, memory, existing }
  }

  /** The company with all that it says, for staging. */
  decoded({ element, company }: ReadCompany): DecodedCompany {
    return company === undefined ? this.#decode(element) : { company, leftOut: [] }
  }

  /** Undefined: something of it was left out, and it was staged. */
  #readCompany(element: CompanyElement, content: Content | null, memory: BatchMemory): ReadCompany | undefined {
    const plain = element.kind === 'companyBytes' ? this.#with.shortcut.read(element, memory) : undefined
    if (plain !== undefined) return { element, content, companyId: plain.companyId, plain }
    const parsed = this.#decode(element)
    const { company, leftOut } = parsed
    if (company !== undefined && leftOut.length === 0) {
      return { element, content, companyId: company.companyId, company }
    }
    this.#with.stager.company(parsed, element.ordinal, null)
    return undefined
  }

  #decode(element: CompanyElement): DecodedCompany {
    const { contract, limits } = this.#with
    return pageCompany(element.kind === 'companyBytes' ? parseCompany(element, limits) : element.value, contract)
  }
}

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

/**
 * The first stage of a fast load: asks which companies are known by the hash of their bytes. The answer is under way
 * when this returns.
 */
export function askWhichAreUnchanged(
  aside: Database,
  hashOf: ContentHash,
  elements: readonly CompanyElement[],
  memory: BatchMemory,
): AskedBatch {
  const contents = elements.map((element) =>
    element.kind === 'companyBytes' ? { hash: hashOf(element.bytes), bytes: element.bytes.byteLength } : null,
  )
  const known = findByContent(
    aside,
    contents.flatMap((content) => content?.hash ?? []),
  )
  // The reader of the batch is told.
  known.catch(() => {})
  return { elements, memory, contents, known }
}

type Writing = {
  direct: DirectCompanies
  listingKey: Promise<number>
  names: { variables: NameIndex; properties: NameIndex }
  stager: ReturnType<typeof createPageStager>
  decoded: (company: ReadCompany) => DecodedCompany
}

/** The third stage of a fast load: new companies become rows of the tables, those that changed are staged. */
export async function writeCompanies({ companies, existing }: ReadBatch, writing: Writing): Promise<void> {
  const known = await existing
  const fresh: ReadCompany[] = []
  for (const company of companies) {
    if (known.has(company.companyId)) {
      writing.stager.company(writing.decoded(company), company.element.ordinal, company.content)
    } else fresh.push(company)
  }
  if (fresh.length > 0) await writeNew(fresh, writing)
}

async function writeNew(fresh: readonly ReadCompany[], { direct, listingKey, names }: Writing): Promise<void> {
  let calculators = 0
  for (const { plain, company } of fresh) {
    calculators += plain?.calculators ?? company?.calculators.length ?? 0
    if (company === undefined) continue
    for (const { propertyId } of company.properties) names.properties.numberOf(propertyId)
    for (const { content } of company.calculators) {
      for (const { variableId } of content?.values ?? []) names.variables.numberOf(variableId)
    }
  }
  const [key] = await Promise.all([
    listingKey,
    names.variables.resolve(),
    names.properties.resolve(),
    direct.reserve(fresh.length, calculators),
  ])
  for (const [index, { plain, company, content }] of fresh.entries()) {
    if (index % companiesPerTurn === companiesPerTurn - 1) await turn()
    if (plain !== undefined) direct.addPlain(plain, { content, listingKey: key })
    else if (company !== undefined) direct.add(company, { content, listingKey: key })
  }
}
