import type { Bench, TaskRun } from '../bench.ts'
import { type Hotel, nobody } from '../evidence/hotel.ts'
import { properties } from '../evidence/reference-evidence.ts'
import { type WrittenAnswers, writeAnswers } from '../evidence/written-answers.ts'
import { inputValues, type WrittenCalculators, writeCalculators } from '../evidence/written-calculators.ts'
import { refusedUpserts, writeMapping } from '../evidence/written-rest.ts'
import { holds, judged, notObserved, type Observation, together } from '../observation.ts'
import { at, isTaken, kindOf, objectsOf, said, textOf, type WireObject } from '../wire-json.ts'
import { type Check, type Checks, givenHotel, withHotel } from './check.ts'
import { failedRows, judgeImport } from './judge-task.ts'

/** Specification, Resources: what the imports are sent. */
export const importChecks: Checks<'mapping' | 'answers' | 'calculator-upsert'> = {
  'mapping/identifier': async (bench) => {
    const own = (await properties(bench)).filter(({ isIdentifier, owned }) => isIdentifier && owned)
    return own.length === 0
      ? notObserved('the profile has no identifier yet')
      : holds(`${own.length} custom properties of the profile are identifiers`)
  },
  'mapping/details': givenHotel(writeMapping, ({ run, file }, bench, hotel) => {
    const entry = mappedEntry(bench, file, hotel.writing.identifier)
    const names = bench.contract.names.companyMappingsResult
    const found = textOf(entry?.[names.companyId])
    return judged(
      run.task !== null && found === hotel.companyId,
      `by its public details: ${textOf(entry?.[names.status]) ?? 'not named'}`,
    )
  }),
  'mapping/stored': withHotel(async (bench, hotel) => {
    const names = bench.contract.names.companyMappingsResult
    const { file, values, hadValue } = await writeMapping(bench, hotel)
    const unmatched = textOf(mappedEntry(bench, file, nobody)?.[names.status])
    const stored = Array.isArray(values) && values.includes(hotel.writing.identifier)
    const found = judged(
      stored && unmatched === names.notFound,
      `stored with its company: ${kindOf(values)}; what matches nothing: ${unmatched}`,
    )
    const fresh = hadValue ? [notObserved(`${hotel.writing.identifier} stood there before: name another one`)] : []
    const answers = await writeAnswers(bench, hotel)
    if (typeof answers === 'string') return together(found, ...fresh, notObserved(answers))
    const { identifiedByValue, dataPointId } = bench.contract.names.rowError
    const failed = failedRows(bench, answers.mixed.task).filter(
      (row) =>
        row[identifiedByValue] === hotel.writing.identifier && answers.dataPointIds.includes(said(row[dataPointId])),
    )
    return together(
      found,
      ...fresh,
      judged(
        failed.length === 0,
        'answers were taken under the id alone',
        `${failed.length} answers under the id alone failed`,
      ),
    )
  }),
  'mapping/open-fields': givenHotel(writeMapping, ({ run }) => taken(run)),

  'answers/framework': storedAnswers(({ stored, framework }, bench) => {
    const { frameworkIds } = bench.contract.names.frameworkAnswersPage
    const assigned = stored.filter((period) => {
      const ids = period[frameworkIds]
      return Array.isArray(ids) && ids.includes(framework.id)
    })
    return judged(assigned.length > 0, `assigned to ${assigned.length} of ${stored.length} periods that came back`)
  }),
  'answers/entry': storedAnswers(({ mixed, stored }, bench, hotel) => {
    const byBoth = stored.length >= 2
    const rows = failedRows(bench, mixed.task).filter(
      (row) => row[bench.contract.names.rowError.companyId] === hotel.companyId,
    )
    return judged(
      byBoth,
      `${stored.length} periods came back, named by value and by id; ${rows.length} failed rows name the company`,
    )
  }),
  'answers/periods': storedAnswers(({ stored }, bench) => {
    const { periodType, month } = bench.contract.names.frameworkAnswersPage
    const seen = stored.map((period) => `${textOf(period[periodType])} ${textOf(period[month]) ?? ''}`.trim())
    return judged(new Set(seen).size === stored.length && stored.length > 1, seen.join(', ') || 'no period came back')
  }),
  'answers/yearly': storedAnswers(({ stored }, bench) => {
    const { yearly } = bench.contract.names.frameworkAnswers
    const months = monthsOf(bench, stored, yearly)
    return judged(months.includes('January') && months.includes('July'), `start months: ${months.join(', ') || 'none'}`)
  }),
  'answers/monthly': storedAnswers(({ stored }, bench) => {
    const months = monthsOf(bench, stored, bench.contract.names.frameworkAnswers.monthly)
    return judged(months.includes('March'), `months: ${months.join(', ') || 'none'}`)
  }),
  'answers/both': storedAnswers(({ stored }, bench) => {
    const { answers, omissions } = bench.contract.names.frameworkAnswersPage
    const has = (name: string) => (period: WireObject) => objectsOf(period[name]).length > 0
    const kinds = stored.map((period) =>
      `${has(answers)(period) ? 'answers' : ''} ${has(omissions)(period) ? 'omissions' : ''}`.trim(),
    )
    const kept = kinds.includes('answers omissions') && kinds.includes('answers') && kinds.includes('omissions')
    return judged(kept, `periods with ${kinds.join(', with ')}`)
  }),
  'answers/typed': storedAnswers(({ stored, valueTypes, dataPointIds }, bench) => {
    const names = bench.contract.names.frameworkAnswersPage
    const back = new Set(
      stored.flatMap((period) => objectsOf(period[names.answers]).map((one) => one[names.dataPointId])),
    )
    const missing = dataPointIds.filter((id) => !back.has(id))
    return judged(
      missing.length === 0,
      `${valueTypes.join(', ')}: ${dataPointIds.length - missing.length} of ${dataPointIds.length} came back`,
    )
  }),
  'answers/omission': storedAnswers(({ stored, questionId, withoutFramework }, bench) => {
    const names = bench.contract.names.frameworkAnswersPage
    const kept = stored.some((period) =>
      objectsOf(period[names.omissions]).some((one) => one[names.questionId] === questionId),
    )
    return together(
      judgeImport(bench, withoutFramework, { statuses: ['success'], file: false }),
      judged(kept, kept ? 'the omission came back by its question' : 'the omission did not come back'),
    )
  }),
  'answers/open-fields': givenHotel(writeAnswers, ({ mixed }) => taken(mixed)),

  'calculator-upsert/group': givenHotel(refusedUpserts, ({ noGroup }) =>
    judged(noGroup.status === 400, `without it: ${noGroup.status}`),
  ),
  'calculator-upsert/identifier': givenHotel(refusedUpserts, ({ noIdentifier }) =>
    judged(noIdentifier.status === 400, `without it: ${noIdentifier.status}`),
  ),
  'calculator-upsert/field-type': givenHotel(writeCalculators, ({ stored, fieldTypeId }, bench) => {
    const { inputs } = bench.contract.names.calculatorsPage
    const values = stored.map((calculator) => at(calculator, inputs, fieldTypeId))
    return judged(
      values.includes(inputValues.march),
      `stored under its field type: ${values.filter(Boolean).join(', ') || 'nothing'}`,
    )
  }),
  'calculator-upsert/switches': givenHotel(writeCalculators, (written, bench) =>
    together(
      judgeYearly(bench, written),
      judged(
        isTaken(written.takenBack.submitted.status),
        `publishing switch answered ${written.takenBack.submitted.status}`,
      ),
    ),
  ),
  'calculator-upsert/open-fields': givenHotel(writeCalculators, ({ run }) => taken(run)),
}

/**
 * A check of what came back of the answers. That it came back proves nothing where the year held something before: an
 * earlier run sent the same.
 */
function storedAnswers(judge: (written: WrittenAnswers, bench: Bench, hotel: Hotel) => Observation): Check {
  return givenHotel(writeAnswers, (written, bench, hotel) => {
    const found = judge(written, bench, hotel)
    if (found.verdict !== 'holds' || written.isFresh) return found
    return notObserved(`${found.seen}; but ${hotel.writing.year} was not empty before: name another --year`)
  })
}

/** The specification does not show the names of the body: that it was accepted tells that they are right. */
function taken({ submitted: { status } }: TaskRun): Observation {
  return judged(isTaken(status), `a body with our names answered ${status}`)
}

function mappedEntry({ contract }: Pick<Bench, 'contract'>, file: unknown, id: string): WireObject | undefined {
  const names = contract.names.companyMappingsResult
  return objectsOf(at(file, names.companies)).find((entry) => entry[names.id] === id)
}

function monthsOf({ contract }: Pick<Bench, 'contract'>, periods: readonly WireObject[], type: string): string[] {
  const names = contract.names.frameworkAnswersPage
  return periods
    .filter((period) => period[names.periodType] === type)
    .flatMap((period) => textOf(period[names.month]) ?? [])
}

/**
 * What the yearly calculation came to. Where its sum stands, how it is written and when it is there are not shown. A
 * sum that was there and goes on following the inputs was not switched off.
 */
function judgeYearly(bench: Bench, { stored, storedOff, fieldTypeId }: WrittenCalculators): Observation {
  const { inputs } = bench.contract.names.calculatorsPage
  const places = [...yearlyValues(bench, stored)].flatMap(([place, value]) =>
    value === inputValues.sum ? [place] : [],
  )
  if (places.length === 0) return notObserved(`no yearly calculator shows the sum ${inputValues.sum}`)
  const changed = storedOff.some((calculator) => at(calculator, inputs, fieldTypeId) === inputValues.laterApril)
  if (!changed) return notObserved('the sum was there when on; that an input changed when off did not show')
  const off = yearlyValues(bench, storedOff)
  return judged(
    !places.some((place) => off.get(place) === inputValues.laterSum),
    `yearly sum ${inputValues.sum} when on, no other when off`,
    `yearly sum ${inputValues.sum} when on, and ${inputValues.laterSum} when off`,
  )
}

/** The numbers of the yearly calculators, by their place. */
function yearlyValues({ contract }: Pick<Bench, 'contract'>, calculators: readonly WireObject[]): Map<string, number> {
  const names = contract.names.calculatorsPage
  const yearly = calculators.filter((calculator) => at(calculator, names.period, names.month) === undefined)
  return new Map(
    yearly.flatMap((calculator) =>
      [names.inputs, names.outputs].flatMap((side) =>
        Object.entries(at(calculator, side) ?? {}).map(([id, value]): [string, number] => [
          `${textOf(calculator[names.typeId])} ${side} ${id}`,
          Number(value),
        ]),
      ),
    ),
  )
}
