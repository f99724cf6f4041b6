import type { CompaniesSearchRequest } from '../../requests/read-searches.ts'
import type { Queryable } from '../../running-sandbox.ts'
import type { Work } from '../work.ts'
import { createCustomFields } from './search-custom-fields.ts'
import { type FoundCompany, readCompanies } from './stored-companies.ts'
import type { Element, Listing } from './write-pages.ts'

/**
 * The companies in the profile's groups with what a mapping takes to find them. Spec gap: the page is not shown,
 * docs/spec-gaps.md; what is absent on a calculator page is absent here too.
 */
export function searchCompanies(work: Work, request: CompaniesSearchRequest, snapshot: Queryable): Listing {
  const names = work.sandbox.contract.names.companiesPage
  const custom = createCustomFields(work, request.customPropertyIds, names)
  const describe = (company: FoundCompany, fields: Record<string, unknown>): Element => ({
    text: JSON.stringify({
      [names.id]: company.id,
      [names.name]: company.name,
      ...(company.street !== null && { [names.street]: company.street }),
      ...(company.latitude !== null &&
        company.longitude !== null && {
          [names.coordinates]: { [names.latitude]: company.latitude, [names.longitude]: company.longitude },
        }),
      ...(company.countryCode !== null && { [names.countryCode]: company.countryCode }),
      ...(company.hotelCode !== null && { [names.hotelCode]: company.hotelCode }),
      ...(company.bookingId !== null && { [names.bookingId]: company.bookingId }),
      ...(company.changedAt !== null && { [names.changedAt]: company.changedAt.toISOString() }),
      ...fields,
    }),
  })
  async function* elements(): AsyncGenerator<Element[]> {
    for await (const companies of readCompanies(snapshot, work)) {
      const fieldsOf = await custom.read(
        snapshot,
        companies.map(({ id }) => id),
      )
      yield companies.map((company) => describe(company, fieldsOf(company.id)))
    }
  }
  return { array: names.companies, head: () => custom.head, elements: elements() }
}
