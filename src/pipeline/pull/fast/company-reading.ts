import { setImmediate as turn } from 'node:timers/promises'
import type { Database } from '../../../db/database.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { PageLimits } from '../../reading/page-limits.ts'
import { parseCompany } from '../../reading/split-page.ts'
import { type DecodedCompany, pageCompany } from '../content/page-company.ts'
import { findById } from '../merge/known-companies.ts'
import type { createPageStager } from '../stage-page.ts'
import type { AskedBatch, CompanyElement, ReadBatch, ReadCompany } from './company-batch.ts'
import type { Content } from './content-hash.ts'
import type { NameIndex } from './name-index.ts'
import { PlainCompanyReader } from './plain-company.ts'
import type { UnchangedCompanies } from './unchanged-companies.ts'

/**
 * Companies that are worked on before others have their turn: a COPY that is under way waits for its next bytes, and
 * one that has ended for the next.
 */
export const companiesPerTurn = 16

type Reading = {
  aside: Database
  contract: Contract
  limits: PageLimits
  names: { variables: NameIndex; properties: NameIndex }
  stager: ReturnType<typeof createPageStager>
  unchanged: UnchangedCompanies
}

/**
 * The second stage of a fast load: marks what is unchanged, reads the rest from its bytes, and asks which of it is in
 * the tables. A company of which something is left out is staged at once.
 */
export class CompanyReading {
  readonly #with: Reading
  #readers: [PlainCompanyReader, PlainCompanyReader]

  constructor(reading: Reading) {
    const { contract, names } = reading
    this.#with = reading
    this.#readers = [new PlainCompanyReader(contract, names), new PlainCompanyReader(contract, names)]
  }

  /** Reads onto one tape while the batch before, whose places are on the other, is not written yet. */
  async read({ elements, contents, known }: AskedBatch): Promise<ReadBatch> {
    const unchangedByHash = await known
    const [reader, other] = this.#readers
    this.#readers = [other, reader]
    reader.rewind()
    const companies: ReadCompany[] = []
    for (const [index, element] of elements.entries()) {
      if (index % companiesPerTurn === companiesPerTurn - 1) await turn()
      const content = contents[index] ?? null
      const same = content === null ? undefined : unchangedByHash.get(content.hash)
      if (same !== undefined) this.#with.unchanged.add(same, content?.bytes)
      else {
        const company = this.#readCompany(reader, element, content)
        if (company !== undefined) companies.push(company)
      }
    }
    const existing = findById(
      this.#with.aside,
      companies.map(({ companyId }) => companyId),
    )
    existing.catch(() => {})
    return { companies, reader, existing }
  }

  /** The company with all that it says, for staging. */
  decoded({ element, company }: ReadCompany): DecodedCompany {
    return company === undefined ? this.#decode(element) : { company, leftOut: [] }
  }

  /** Undefined: something of it was left out, and it was staged. */
  #readCompany(reader: PlainCompanyReader, element: CompanyElement, content: Content | null): ReadCompany | undefined {
    const plain = element.kind === 'companyBytes' ? reader.read(element.bytes) : undefined
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
