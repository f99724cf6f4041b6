import { randomUUID } from 'node:crypto'
import { integerOf, monthName, monthNumber } from '../../exchange/wire-value.ts'
import type { Bench, TaskRun } from '../bench.ts'
import { at, isSameId, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { findRecord, type Hotel, nobody } from './hotel.ts'
import { calculatorPages, calculatorsSeen } from './searches.ts'
import { fileAddressIn, runTask } from './task-run.ts'

export type WrittenCalculators = {
  fieldTypeId: string
  /** Whether a variable of this id came by. That variables have the ids of their field types is assumed. */
  isVariable: boolean
  /** Whether the field type is the id of a variable, and was refused as one. */
  isRefusedGuess: boolean
  run: TaskRun
  /** The result file; null when the task named none. */
  file: unknown
  /**
   * The hotel's calculators of that year, with yearly calculation on, and after it was switched off and then the value
   * of April changed; null where the calculator search does not show the hotel.
   */
  stored: WireObject[] | null
  storedOff: WireObject[] | null
  /** What the months held before put back, or the inputs blanked, with yearly calculation off. */
  takenBack: TaskRun
}

/** The values that are sent for March and April, and then for April alone, and the sums of the two. */
export const inputValues = { march: '12.50', april: '7.5', sum: 20, laterApril: '9.5', laterSum: 22 }

/** Feeds the hotel's calculators and takes it back; a sentence instead where it could not be. */
export function writeCalculators(bench: Bench, hotel: Hotel): Promise<WrittenCalculators | string> {
  return bench.once('written calculators', async () => {
    const { names, endpoints } = bench.contract
    const fieldTypeId = hotel.writing.fieldTypeId ?? (await fieldTypeSeen(bench))
    if (fieldTypeId === null) return 'no calculator was seen whose inputs name a field type: name one with --field-type'
    const isVariable = (await variablesSeen(bench)).has(fieldTypeId.toLowerCase())
    const before = await inputsBefore(bench, hotel, { fieldTypeId, isVariable })
    if (typeof before === 'string') return before
    const send = (companies: WireObject[]) =>
      runTask(bench, 'calculatorsUpsert', endpoints.calculatorsUpsert, calculatorsBody(bench, hotel, companies))
    const { identifier } = hotel.writing
    const month = (number: number, id: string, value: string) => monthly(bench, hotel, number, { id, value })
    const company = (named: string, calculators: WireObject[], automatic: boolean) => ({
      ...entry(bench, named, calculators),
      [names.calculators.automaticYearlyCalculation]: automatic,
      [names.calculators.automaticPublishing]: false,
    })
    const fed = (march: string, april: string) => [month(3, fieldTypeId, march), month(4, fieldTypeId, april)]
    const asBefore = [company(identifier, fed(before.march, before.april), false)]
    let isBack = false
    // Whatever keeps us from the end of this, what stood there comes back.
    bench.atEnd(async () => {
      if (isBack) return
      await bench.wire.call(endpoints.calculatorsUpsert, { body: calculatorsBody(bench, hotel, asBefore) })
    })
    const run = await send([
      company(identifier, fed(inputValues.march, inputValues.april), true),
      company(nobody, [month(3, randomUUID(), '1')], false),
    ])
    const address = fileAddressIn(bench, run.task)
    const file = address === null ? null : await bench.wire.download(address)
    bench.note('calculatorsResult', file)
    const stored = await calculatorsOf(bench, hotel)
    // Whether a switch or the inputs of one request come first is not shown: the switch has a request of its own.
    await send([company(identifier, fed(inputValues.march, inputValues.april), false)])
    await send([company(identifier, [month(4, fieldTypeId, inputValues.laterApril)], false)])
    const storedOff = await calculatorsOf(bench, hotel)
    const takenBack = await send(asBefore)
    isBack = takenBack.task !== null
    const isGuess = hotel.writing.fieldTypeId === null
    const isRefusedGuess = isGuess && wasRefused(bench, run, file, identifier)
    return { fieldTypeId, isVariable, isRefusedGuess, run, file, stored, storedOff, takenBack }
  })
}

/**
 * What stands where will be written, so that it can be put back; blank where nothing does. A sentence instead where
 * that is not known: a real value is not written over.
 */
async function inputsBefore(
  bench: Bench,
  hotel: Hotel,
  { fieldTypeId, isVariable }: Pick<WrittenCalculators, 'fieldTypeId' | 'isVariable'>,
): Promise<{ march: string; april: string } | string> {
  const names = bench.contract.names.calculatorsPage
  const calculators = await calculatorsOf(bench, hotel)
  if (calculators === null)
    return 'the calculator search does not show the hotel: what stands there could not be put back'
  const inputsOf = (month: number) =>
    calculators
      .filter((one) => monthNumber(textOf(at(one, names.period, names.month)) ?? '') === month)
      .flatMap((one) => Object.entries(at(one, names.inputs) ?? {}))
  if (!isVariable && [3, 4].some((month) => inputsOf(month).length > 0))
    return `${hotel.writing.year} has inputs, and which of them are of the field type is not known: name another --year`
  const stands = (month: number) => textOf(inputsOf(month).find(([id]) => isSameId(id, fieldTypeId))?.[1]) ?? ''
  return { march: stands(3), april: stands(4) }
}

/** Whether the task could do nothing with the input of the hotel, or the request was not taken for what it holds. */
function wasRefused({ contract }: Pick<Bench, 'contract'>, run: TaskRun, file: unknown, identifier: string): boolean {
  const names = contract.names.calculatorsResult
  const outcome = objectsOf(at(file, names.companies)).find((one) => one[names.identifier] === identifier)
  return (
    [400, 422].includes(run.submitted.status) ||
    run.statuses.at(-1) === contract.taskStatuses.error ||
    outcome?.[names.status] === names.failed
  )
}

/** The ids of all variables on the pages of the calculator search, in small letters. */
async function variablesSeen(bench: Bench): Promise<Set<string>> {
  const names = bench.contract.names.calculatorsPage
  const listed = (await calculatorPages(bench)).documents.flatMap((page) =>
    objectsOf(at(page, names.calculatorVariables)).flatMap((variable) => textOf(variable[names.id]) ?? []),
  )
  const used = (await calculatorsSeen(bench)).flatMap((one) => Object.keys(at(one, names.inputs) ?? {}))
  return new Set([...listed, ...used].map((id) => id.toLowerCase()))
}

/** An entry that names no company: nothing of it can be stored. Whether an empty list is taken is not shown. */
export function entryOfNobody(bench: Pick<Bench, 'contract'>, hotel: Hotel): WireObject {
  return entry(bench, nobody, [monthly(bench, hotel, 3, { id: randomUUID(), value: '1' })])
}

function entry({ contract }: Pick<Bench, 'contract'>, identifier: string, calculators: WireObject[]): WireObject {
  const names = contract.names.calculators
  return { [names.identifier]: identifier, [names.calculators]: calculators }
}

/** One input of a month of the year that is written to. */
function monthly(
  { contract }: Pick<Bench, 'contract'>,
  { writing }: Hotel,
  month: number,
  { id, value }: { id: string; value: string },
): WireObject {
  const names = contract.names.calculators
  return {
    [names.period]: { [names.year]: writing.year, [names.month]: monthName(month) },
    [names.inputs]: [{ [names.fieldTypeId]: id, [names.value]: value }],
  }
}

/** A calculator upsert of these entries. */
export function calculatorsBody(
  { contract }: Pick<Bench, 'contract'>,
  { writing }: Hotel,
  companies: WireObject[],
): WireObject {
  const names = contract.names.calculators
  return {
    [names.groupId]: writing.groupId,
    [names.customIdentifierId]: writing.customIdentifierId,
    [names.companies]: companies,
  }
}

/** An input variable that came by, of a monthly calculator if any; that it has the id of its field type is assumed. */
async function fieldTypeSeen(bench: Bench): Promise<string | null> {
  const names = bench.contract.names.calculatorsPage
  const fed = (await calculatorsSeen(bench)).filter(
    (calculator) => Object.keys(at(calculator, names.inputs) ?? {}).length > 0,
  )
  const monthly = fed.find((calculator) => textOf(at(calculator, names.period, names.month)) !== null) ?? fed[0]
  return Object.keys(at(monthly, names.inputs) ?? {})[0] ?? null
}

async function calculatorsOf(bench: Bench, { companyId, writing }: Hotel): Promise<WireObject[] | null> {
  const names = bench.contract.names.calculatorsPage
  const search = await runTask(bench, 'calculatorsSearch', bench.contract.endpoints.calculatorsSearch, {})
  const found = await findRecord(bench, search.task, names.companies, (company) =>
    isSameId(company[names.id], companyId),
  )
  if (found === undefined) return null
  bench.note('calculatorsPage', { [names.companies]: [found] })
  return objectsOf(found[names.calculators]).filter(
    (one) => integerOf(at(one, names.period, names.year)) === writing.year,
  )
}
