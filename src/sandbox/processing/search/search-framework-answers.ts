import type { FrameworkAnswersSearchRequest } from '../../requests/read-searches.ts'
import type { Queryable } from '../../running-sandbox.ts'
import type { Work } from '../work.ts'
import { describePeriod } from './describe-period.ts'
import { readPeriods } from './read-periods.ts'
import { createCustomFields } from './search-custom-fields.ts'
import { readCompanies } from './stored-companies.ts'
import type { Element, Listing } from './write-pages.ts'

/**
 * The companies in the profile's groups with their answers and omissions by period. Spec gap: the page is not shown,
 * docs/spec-gaps.md. As on a calculator page, a company that has none is listed, with an empty list of periods, and
 * what a period does not have is absent.
 */
export function searchFrameworkAnswers(
  work: Work,
  request: FrameworkAnswersSearchRequest,
  snapshot: Queryable,
): Listing {
  const { contract } = work.sandbox
  const names = contract.names.frameworkAnswersPage
  const custom = createCustomFields(work.profileId, request.customPropertyIds, names)
  async function* elements(): AsyncGenerator<Element[]> {
    for await (const companies of readCompanies(snapshot, work.profileId)) {
      const ids = companies.map(({ id }) => id)
      const fieldsOf = await custom.read(snapshot, ids)
      const periods = await readPeriods(snapshot, ids, request.frameworkIds)
      yield companies.map(({ id, name }) => ({
        text: JSON.stringify({
          [names.id]: id,
          [names.name]: name,
          ...fieldsOf(id),
          [names.periods]: (periods.get(id) ?? []).map((period) => describePeriod(contract, period)),
        }),
      }))
    }
  }
  return { array: names.companies, head: () => custom.head, elements: elements() }
}
