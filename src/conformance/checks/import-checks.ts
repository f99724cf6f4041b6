import type { Bench } from '../bench.ts'
import { type Hotel, nobody } from '../evidence/hotel.ts'
import { properties } from '../evidence/reference-evidence.ts'
import { endOf } from '../evidence/task-run.ts'
import { isKept, type WrittenAnswers, writeAnswers } from '../evidence/written-answers.ts'
import { inputValues, type WrittenCalculators, writeCalculators } from '../evidence/written-calculators.ts'
import { refusedUpserts, writeMapping } from '../evidence/written-rest.ts'
import { differs, holds, judged, notObserved, type Observation, together } from '../observation.ts'
import { at, isSameId, isTaken, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { type Checks, givenHotel, withHotel } from './check.ts'
import { judgeInput } from './judge-inputs.ts'
import { failedRows, judgeTaken, workWasDone } from './judge-task.ts'

/** Specification, Resources: what mappings and calculator upserts are sent. */
export const importChecks: Checks<'mapping' | 'calculator-upsert'> = {
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
    const told =
      unmatched === null
        ? notObserved(`the file does not name what matches nothing`)
        : judged(unmatched === names.notFound, `what matches nothing: ${unmatched}`)
    const stored =
      values === null
        ? notObserved('the calculator search does not show the values of the identifier')
        : judged(
            values.includes(hotel.writing.identifier),
            `stored with its company: ${values.join(', ') || 'nothing'}`,
          )
    const found = together(stored, told)
    const fresh = hadValue ? [notObserved(`${hotel.writing.identifier} stood there before: name another one`)] : []
    const answers = await writeAnswers(bench, hotel)
    if (typeof answers === 'string') return together(found, ...fresh, notObserved(answers))
    return together(found, ...fresh, judgeUnderId(bench, hotel, answers))
  }),
  'mapping/open-fields': givenHotel(writeMapping, ({ run }) => judgeTaken(run)),

  'calculator-upsert/group': givenHotel(refusedUpserts, ({ noGroup }) =>
    judged(noGroup.status === 400, `without it: ${noGroup.status}`),
  ),
  'calculator-upsert/identifier': givenHotel(refusedUpserts, ({ noIdentifier }) =>
    judged(noIdentifier.status === 400, `without it: ${noIdentifier.status}`),
  ),
  'calculator-upsert/field-type': givenHotel(writeCalculators, (written, bench) =>
    judgeInput(bench, written, (value) => Number(value) === Number(inputValues.march)),
  ),
  'calculator-upsert/switches': givenHotel(writeCalculators, (written, bench) =>
    together(
      judgeYearly(bench, written),
      judged(
        isTaken(written.takenBack.submitted.status),
        `publishing switch answered ${written.takenBack.submitted.status}`,
      ),
    ),
  ),
  'calculator-upsert/open-fields': givenHotel(writeCalculators, ({ run }) => judgeTaken(run)),
}

function mappedEntry({ contract }: Pick<Bench, 'contract'>, file: unknown, id: string): WireObject | undefined {
  const names = contract.names.companyMappingsResult
  return objectsOf(at(file, names.companies)).find((entry) => entry[names.id] === id)
}

/** Whether answers that named the hotel by the partner's id alone were taken. */
function judgeUnderId(bench: Bench, hotel: Hotel, written: WrittenAnswers): Observation {
  if (!workWasDone(bench, written.mixed)) return notObserved(endOf(written.mixed))
  const { dataPointId } = bench.contract.names.frameworkAnswers
  const names = bench.contract.names.rowError
  const byValue = written.sent.filter(({ by }) => by === 'value')
  const ids = byValue.flatMap(({ answers, declined }) => [...answers.map((one) => one[dataPointId]), ...declined])
  const failed = failedRows(bench, written.mixed.task).filter(
    (row) =>
      row[names.identifiedByValue] === hotel.writing.identifier &&
      ids.some((id) => isSameId(row[names.dataPointId] ?? row[names.questionId], id)),
  )
  if (failed.length > 0) return differs(`${failed.length} answers under the id alone failed`)
  if (written.stored === null || written.stored.length === 0)
    return notObserved('the framework answers search shows no period of the hotel')
  if (!byValue.some((sent) => isKept(bench, written, sent))) return differs('answers under the id alone were lost')
  return written.isFresh
    ? holds('answers were taken under the id alone')
    : notObserved(`${hotel.writing.year} was not empty before: name another --year`)
}

/**
 * What the yearly calculation came to. Where its sum stands, how it is written and when it is there are not shown. A
 * sum that was there and goes on following the inputs was not switched off.
 */
function judgeYearly(bench: Bench, { stored, storedOff, fieldTypeId }: WrittenCalculators): Observation {
  const { inputs } = bench.contract.names.calculatorsPage
  if (stored === null || storedOff === null) return notObserved('the calculator search does not show the hotel')
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
