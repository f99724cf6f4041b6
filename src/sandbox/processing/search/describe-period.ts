import type { Contract } from '../../../exchange/contract.ts'
import { monthName } from '../../month-words.ts'
import type { FoundPeriod } from './read-periods.ts'

/** One period of a company on a framework answers page. A yearly one names its start month. */
export function describePeriod(contract: Contract, period: FoundPeriod): Record<string, unknown> {
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
