import { copyField } from '../../db/pull/copy-text.ts'
import type { DirectWriter } from '../../db/pull/direct-writer.ts'
import type { createKeyBlocks } from '../../db/pull/key-blocks.ts'
import type { NameKeys } from '../../db/pull/name-keys.ts'
import { NeedsCare } from './needs-care.ts'
import type { PageCompany } from './page-company.ts'
import { countValues } from './stage-page.ts'

/** A company that no table knows, read without anything left out. */
export type NewCompany = { company: PageCompany; contentHash: string | null }

/** Ids remembered at once: real pages have some hundreds, and a hostile one must not fill the heap. */
const maxNames = 50_000

export type DirectCompanies = {
  /** Turns companies into rows and gives them to the writer. */
  add(companies: readonly NewCompany[], listingKey: number): Promise<void>
  /** What they referred to, by key: each must be listed on the page. */
  referred: { variables: ReadonlySet<number>; properties: ReadonlySet<number> }
  companyKeys: readonly number[]
  counts: { companies: number; calculators: number; values: number }
}

/** Writes new companies with all of theirs straight into the tables. */
export function createDirectCompanies(
  writer: DirectWriter,
  keys: ReturnType<typeof createKeyBlocks>,
  names: { variables: NameKeys; properties: NameKeys },
): DirectCompanies {
  const referred = { variables: new Set<number>(), properties: new Set<number>() }
  const companyKeys: number[] = []
  const counts = { companies: 0, calculators: 0, values: 0 }

  async function resolveNames(companies: readonly NewCompany[]): Promise<void> {
    const variables = new Set<string>()
    const properties = new Set<string>()
    for (const { company } of companies) {
      for (const { propertyId } of company.properties) {
        if (names.properties.keyOf(propertyId) === undefined) properties.add(propertyId)
      }
      for (const { content } of company.calculators) {
        for (const { variableId } of content?.values ?? []) {
          if (names.variables.keyOf(variableId) === undefined) variables.add(variableId)
        }
      }
    }
    if (referred.variables.size + variables.size > maxNames || referred.properties.size + properties.size > maxNames) {
      throw new NeedsCare('many_names')
    }
    if (variables.size > 0) await names.variables.resolve([...variables])
    if (properties.size > 0) await names.properties.resolve([...properties])
  }

  const variableKey = (id: string): number => {
    const key = names.variables.keyOf(id)
    if (key === undefined) throw new Error(`the variable ${id} was not resolved`)
    referred.variables.add(key)
    return key
  }
  const propertyKey = (id: string): number => {
    const key = names.properties.keyOf(id)
    if (key === undefined) throw new Error(`the property ${id} was not resolved`)
    referred.properties.add(key)
    return key
  }

  function write(
    { company, contentHash }: NewCompany,
    companyKey: number,
    calculatorKeys: number[],
    listingKey: number,
  ) {
    const { companyId, name, properties, calculators } = company
    const valueCount = countValues(company)
    const hash = contentHash ?? '\\N'
    writer.add(
      'company',
      `${companyKey}\t${companyId}\t${copyField(name ?? '')}\t${hash}\t${listingKey}\t${calculators.length}\t${valueCount}\n`,
    )
    for (const { propertyId, ordinal, value } of properties) {
      writer.add('company_property', `${companyKey}\t${propertyKey(propertyId)}\t${ordinal}\t${copyField(value)}\n`)
    }
    for (const { calculatorId, content } of calculators) {
      const calculatorKey = calculatorKeys.pop()
      if (content === null || calculatorKey === undefined) throw new Error(`calculator ${calculatorId} has no content`)
      const { typeId, title, year, month, values } = content
      writer.add(
        'calculator',
        `${calculatorKey}\t${calculatorId}\t${companyKey}\t${typeId}\t${copyField(title ?? '')}\t${year}\t${month ?? '\\N'}\n`,
      )
      const owner = `${companyKey}\t${calculatorKey}\t`
      let lines = ''
      for (const { direction, variableId, value } of values) {
        lines += `${owner}${variableKey(variableId)}\t${direction}\t${copyField(value)}\n`
      }
      writer.add('calculator_value', lines)
    }
    counts.companies++
    counts.calculators += calculators.length
    counts.values += valueCount
  }

  return {
    referred,
    companyKeys,
    counts,
    add: async (companies, listingKey) => {
      await resolveNames(companies)
      const taken = await keys.take('company', companies.length)
      let calculators = 0
      for (const { company } of companies) calculators += company.calculators.length
      const calculatorKeys = (await keys.take('calculator', calculators)).reverse()
      for (const [index, company] of companies.entries()) {
        const companyKey = taken[index]
        if (companyKey === undefined) throw new Error('too few keys were taken')
        companyKeys.push(companyKey)
        write(company, companyKey, calculatorKeys, listingKey)
      }
    },
  }
}
