import type { Contract } from '../../exchange/contract.ts'
import { monthNumber } from '../month-words.ts'
import type { AnswerEntry, PeriodEntry } from '../requests/read-answers.ts'
import type { World, WorldPoint } from '../service-world.ts'
import { answerOf, type Judged, judgeValue, wrong } from './judge-value.ts'
import type { Failure } from './work.ts'

export type Period = { periodType: 'Yearly' | 'Monthly'; year: number; month: number }

/** A Yearly period starts in January unless it names a month; a Monthly one is one month (specification, Resources). */
export function judgePeriod(contract: Contract, period: PeriodEntry): Judged<Period> {
  const { yearly, monthly } = contract.names.frameworkAnswers
  const { year } = period
  if (period.periodType !== yearly && period.periodType !== monthly) {
    return wrong('period_type_unknown', `The period type "${period.periodType}" is neither ${yearly} nor ${monthly}.`)
  }
  if (year === null || !Number.isInteger(year) || year < 1900 || year > 2100) {
    return wrong('year_invalid', 'The year must be a whole number between 1900 and 2100.')
  }
  const periodType = period.periodType === yearly ? 'Yearly' : 'Monthly'
  if (period.month === null) {
    if (periodType === 'Monthly') return wrong('month_missing', 'A monthly period must name its month.')
    return { value: { periodType, year, month: 1 }, failure: null }
  }
  const month = monthNumber(period.month)
  if (month === null) return wrong('month_invalid', `"${period.month}" is not the name of a month.`)
  return { value: { periodType, year, month }, failure: null }
}

export function judgeOmission(world: World, questionId: string): Failure | null {
  if (world.questionIds.has(questionId.toLowerCase())) return null
  return { reason: 'question_not_found', message: `There is no question with the id "${questionId}".` }
}

/** The answer as it is to be stored and shown, or why the service does not take it. */
export function judgeAnswer(
  { contract, world }: { contract: Contract; world: World },
  entry: AnswerEntry,
  period: Period,
): Judged<unknown> {
  const point = world.dataPoints.get(entry.dataPointId.toLowerCase())
  if (!point) return wrong('data_point_not_found', `There is no data point with the id "${entry.dataPointId}".`)
  if (point.reportingPeriodType !== 'Any' && point.reportingPeriodType !== period.periodType) {
    const message = `The data point "${point.title}" is reported ${point.reportingPeriodType}, not ${period.periodType}.`
    return wrong('period_type_not_allowed', message)
  }
  const unit = judgeUnit(point, entry.unitId)
  if (unit) return { value: null, failure: unit }
  const judged = judgeValue(contract, point, entry.answer)
  return judged.failure ? judged : { value: answerOf(contract, point, judged.value), failure: null }
}

function judgeUnit(point: WorldPoint, unitId: string | null): Failure | null {
  const units = point.unitTypes.flatMap((unitType) => unitType.units)
  if (unitId === null) {
    if (units.length === 0) return null
    return { reason: 'unit_missing', message: `The data point "${point.title}" needs a unit.` }
  }
  if (units.some((unit) => unit.id === unitId)) return null
  return { reason: 'unit_not_allowed', message: `"${unitId}" is not a unit of the data point "${point.title}".` }
}
