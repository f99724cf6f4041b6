import { setImmediate as turn } from 'node:timers/promises'
import type { DecodedCompany } from '../content/page-company.ts'
import type { createPageStager } from '../stage-page.ts'
import type { ReadBatch, ReadCompany } from './company-batch.ts'
import { companiesPerTurn } from './company-reading.ts'
import type { DirectCompanies } from './direct-companies.ts'
import type { NameIndex } from './name-index.ts'

type Writing = {
  direct: DirectCompanies
  listingKey: number
  names: { variables: NameIndex; properties: NameIndex }
  stager: ReturnType<typeof createPageStager>
  decoded: (company: ReadCompany) => DecodedCompany
}

/** The third stage of a fast load: new companies become rows of the tables, those that changed are staged. */
export async function writeCompanies({ companies, reader, existing }: ReadBatch, writing: Writing): Promise<void> {
  const known = await existing
  const fresh: ReadCompany[] = []
  for (const company of companies) {
    if (known.has(company.companyId)) {
      writing.stager.company(writing.decoded(company), company.element.ordinal, company.content)
    } else fresh.push(company)
  }
  if (fresh.length > 0) await writeNew(fresh, reader.tape, writing)
}

async function writeNew(
  fresh: readonly ReadCompany[],
  tape: Int32Array,
  { direct, listingKey, names }: Writing,
): Promise<void> {
  let calculators = 0
  for (const { plain, company } of fresh) {
    calculators += plain?.calculators ?? company?.calculators.length ?? 0
    if (company === undefined) continue
    for (const { propertyId } of company.properties) names.properties.numberOf(propertyId)
    for (const { content } of company.calculators) {
      for (const { variableId } of content?.values ?? []) names.variables.numberOf(variableId)
    }
  }
  await names.variables.resolve()
  await names.properties.resolve()
  await direct.reserve(fresh.length, calculators)
  for (const [index, { plain, company, content }] of fresh.entries()) {
    if (index % companiesPerTurn === companiesPerTurn - 1) await turn()
    if (plain !== undefined) direct.addPlain(plain, tape, { content, listingKey })
    else if (company !== undefined) direct.add(company, { content, listingKey })
  }
}
