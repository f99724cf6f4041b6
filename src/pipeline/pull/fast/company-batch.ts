import type { PageElement } from '../../reading/read-page.ts'
import type { SplitCompany } from '../../reading/split-page.ts'
import type { PageCompany } from '../content/page-company.ts'
import type { UnchangedCompany } from '../merge/known-companies.ts'
import type { Content } from './content-hash.ts'
import type { PlainCompany, PlainCompanyReader } from './plain-company.ts'

/** A company of the page: its bytes, or parsed where the page could not be cut. */
export type CompanyElement = SplitCompany | PageElement

/** Companies, what they are read from, and which of these contents are known. */
export type AskedBatch = {
  elements: readonly CompanyElement[]
  contents: readonly (Content | null)[]
  known: Promise<ReadonlyMap<string, UnchangedCompany>>
}

/** What was read of a batch, by which reader, and which of it is there already. */
export type ReadBatch = {
  companies: readonly ReadCompany[]
  reader: PlainCompanyReader
  existing: Promise<ReadonlySet<string>>
}

/** A company of which nothing was left out: either as places in its bytes or decoded. */
export type ReadCompany = {
  element: CompanyElement
  content: Content | null
  companyId: string
  plain?: PlainCompany
  company?: PageCompany
}
