import type { SearchRequest } from '../../requests/read-search.ts'
import type { Queryable } from '../../running-sandbox.ts'
import type { Work } from '../work.ts'
import { describeCompany } from './describe-company.ts'
import { createCustomFields } from './search-custom-fields.ts'
import { readCalculators } from './stored-calculators.ts'
import { readCompanies } from './stored-companies.ts'
import { variablesOf } from './variables-of.ts'
import type { Element, Listing } from './write-pages.ts'

/**
 * The companies in the profile's groups with their calculators of the requested types (specification, Calculator
 * search result page). A company without calculators is listed all the same.
 */
export function searchCalculators(work: Work, request: SearchRequest, snapshot: Queryable): Listing {
  const { contract, world } = work.sandbox
  const names = contract.names.calculatorsPage
  const custom = createCustomFields(work, request.customPropertyIds, names)
  async function* elements(): AsyncGenerator<Element[]> {
    for await (const companies of readCompanies(snapshot, work)) {
      const ids = companies.map(({ id }) => id)
      const fieldsOf = await custom.read(snapshot, ids)
      const calculators = await readCalculators(snapshot, ids, request.calculatorTypeIds)
      yield companies.map((company) => {
        const own = calculators.get(company.id) ?? []
        return {
          text: describeCompany(work.sandbox, company, fieldsOf(company.id), own),
          mentions: variablesOf(world, own),
        }
      })
    }
  }
  const head = (mentioned: ReadonlySet<string>) => ({
    ...custom.head,
    ...(mentioned.size > 0 && {
      [names.calculatorVariables]: [...mentioned].sort().map((id) => ({
        [names.id]: id,
        [names.name]: world.variableNames.get(id) ?? id,
      })),
    }),
  })
  return { array: names.companies, head, elements: elements() }
}
