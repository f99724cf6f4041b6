import type { Contract } from '../../../exchange/contract.ts'
import { monthName } from '../../month-words.ts'
import type { FrameworkAnswersSearchRequest } from '../../requests/read-searches.ts'
import type { Queryable } from '../../running-sandbox.ts'
import type { Work } from '../work.ts'
import { type FoundPeriod, readPeriods } from './read-periods.ts'
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
  const { contract, world } = work.sandbox
  const names = contract.names.frameworkAnswersPage
  const custom = createCustomFields(work, request.customPropertyIds, names)
  async function* elements(): AsyncGenerator<Element[]> {
    for await (const companies of readCompanies(snapshot, work)) {
      const ids = companies.map(({ id }) => id)
      const fieldsOf = await custom.read(snapshot, ids)
      const periods = await readPeriods(snapshot, world, ids, request.frameworkIds)
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

/** One period of a company on a framework answers page. A yearly one names its start month. */
function describePeriod(contract: Contract, period: FoundPeriod): Record<string, unknown> {
  const names = contract.names.frameworkAnswersPage
  const { yearly, monthly } = contract.names.frameworkAnswers
  const { frameworkIds, answers, omissions } = period
  return {
    [names.periodType]: period.periodType === 'Yearly' ? yearly : monthly,
    [names.year]: period.year,
    [names.month]: monthName(period.month),
    ...(frameworkIds.length > 0 && { [names.frameworkIds]: frameworkIds }),
    ...(answers.length > 0 && {
      [names.answers]: answers.map(({ dataPointId, value, unitId, changedAt }) => ({
        [names.dataPointId]: dataPointId,
        [names.answer]: value,
        ...(unitId !== null && { [names.unitId]: unitId }),
        [names.changedAt]: changedAt.toISOString(),
      })),
    }),
    ...(omissions.length > 0 && {
      [names.omissions]: omissions.map(({ questionId, changedAt }) => ({
        [names.questionId]: questionId,
        [names.changedAt]: changedAt.toISOString(),
      })),
    }),
  }
}
