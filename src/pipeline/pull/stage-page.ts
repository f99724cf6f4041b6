import type { StagingWriter } from '../../db/pull/staging-writer.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { LeftOut } from './left-out.ts'
import { type PageCompany, pageCompany } from './page-company.ts'
import { pageName } from './page-name.ts'
import type { PageElement } from './read-page.ts'
import { createVariableReferences } from './variable-references.ts'

/** Decodes the elements of one page and lays them into staging; holds no more than one company and one batch. */
export async function stagePage(
  elements: AsyncIterable<PageElement>,
  contract: Contract,
  writer: StagingWriter,
): Promise<void> {
  const stageCompany = companyStager(writer)
  for await (const { kind, value, ordinal } of elements) {
    if (kind === 'company') {
      const { company, leftOut } = pageCompany(value, contract)
      if (company !== undefined) stageCompany(company, ordinal)
      for (const item of leftOut) stageLeftOut(writer, item)
    } else {
      const name = pageName(kind === 'customProperty' ? 'property_name' : 'variable_name', value, contract)
      if ('reason' in name) stageLeftOut(writer, name)
      else if (kind === 'customProperty') writer.add('staged_property_name', [ordinal, name.id, name.name])
      else writer.add('staged_variable_name', [ordinal, name.id, name.name])
    }
    await writer.drain()
  }
  await writer.flush()
}

function companyStager(writer: StagingWriter): (company: PageCompany, ordinal: number) => void {
  const referTo = createVariableReferences((reference, variableId) => {
    writer.add('staged_reference', [reference, variableId])
  })
  let calculatorOrdinal = 0
  return (company, ordinal) => {
    const { companyId, name, readable, complete } = company
    writer.add('staged_company', [ordinal, companyId, name, readable, complete])
    for (const property of company.properties) {
      writer.add('staged_property', [ordinal, property.propertyId, property.ordinal, property.value])
    }
    for (const { calculatorId, content } of company.calculators) {
      calculatorOrdinal++
      if (content === null) {
        writer.add('staged_calculator', [calculatorOrdinal, ordinal, calculatorId, null, null, null, null, false])
        continue
      }
      const { typeId, title, year, month, values } = content
      writer.add('staged_calculator', [calculatorOrdinal, ordinal, calculatorId, typeId, title, year, month, true])
      for (const { direction, variableId, value } of values) {
        writer.add('staged_value', [calculatorOrdinal, referTo(variableId), direction, value])
      }
    }
  }
}

function stageLeftOut(writer: StagingWriter, item: LeftOut): void {
  writer.add('staged_left_out', [item.unit, item.companyId, item.calculatorId, item.item, item.reason, item.excerpt])
}
