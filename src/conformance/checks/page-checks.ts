import type { Bench } from '../bench.ts'
import { customProperties, properties } from '../evidence/reference-evidence.ts'
import {
  calculatorPages,
  calculatorsSeen,
  companiesSeen,
  narrowSearches,
  pagesOf,
  searches,
} from '../evidence/searches.ts'
import { inputValues, writeCalculators } from '../evidence/written-calculators.ts'
import { anyOf, faultless, holds, judged, notObserved, type Observation, together } from '../observation.ts'
import { at, isObject, isSameId, isUuid, kindOf, objectsOf, said, textOf, type WireObject } from '../wire-json.ts'
import { type Check, type Checks, given, givenHotel } from './check.ts'
import { judgeInput } from './judge-inputs.ts'
import { judgeSearch, namesOf, workWasDone } from './judge-task.ts'
import { faultsOf, isFilledText, isListOfTexts, isText, mapFault, periodFault, variableFaults } from './page-faults.ts'

/** Specification, Resources: reference records and the calculator search result page. */
export const pageChecks: Checks<'reference' | 'page' | 'company' | 'calculator'> = {
  'reference/records': given(customProperties, ({ json }, bench) => {
    const names = bench.contract.names.customProperties
    const faults = faultsOf(objectsOf(json), (record) => {
      if (textOf(record[names.id]) === null || textOf(record[names.name]) === null) return `one has ${kindOf(record)}`
      return typeof record[names.isIdentifier] === 'boolean'
        ? null
        : `isIdentifier is ${kindOf(record[names.isIdentifier])}`
    })
    return objectsOf(json).length === 0
      ? notObserved('there are no custom properties')
      : faultless(faults, `${objectsOf(json).length} custom properties with id, name and the boolean`)
  }),
  'reference/open-fields': given(customProperties, ({ json }) => {
    const [record] = objectsOf(json)
    return record === undefined
      ? notObserved('there are no custom properties')
      : holds(`a custom property: ${Object.keys(record).join(', ')}`)
  }),

  'page/request-type': given(searches, ({ runs }, bench) => {
    const { type } = namesOf(bench, runs.calculators)
    return judged(type === bench.contract.taskNames.calculatorsSearch.requestType, type ?? 'no request type')
  }),
  'page/documents': given(calculatorPages, async ({ addresses, documents }, bench) => {
    const { companies } = bench.contract.names.calculatorsPage
    const whole = documents.filter((page) => Array.isArray(at(page, companies)))
    const ids = (await companiesSeen(bench)).map((company) => company[bench.contract.names.calculatorsPage.id])
    const once = judged(
      new Set(ids).size === ids.length,
      `${ids.length} companies, none of them twice`,
      `${ids.length - new Set(ids).size} of ${ids.length} companies stand there twice`,
    )
    return together(
      judged(whole.length === documents.length && whole.length > 0, `${addresses.length} pages, ${whole.length} read`),
      once,
    )
  }),
  'page/calculator': async (bench) => {
    const { id } = bench.contract.names.calculatorsPage
    const ids = (await calculatorsSeen(bench)).map((calculator) => calculator[id])
    const periods = await over('calculators', bench, 'each of one period', (calculator) =>
      periodFault(bench, calculator),
    )
    return together(
      periods,
      judged(
        new Set(ids).size === ids.length,
        'each of one company',
        `${ids.length - new Set(ids).size} stand under two companies`,
      ),
    )
  },
  'page/values': (bench) =>
    over('calculators', bench, 'values are strings, none of them blank', (calculator) =>
      valuesFault(bench, calculator),
    ),
  'page/custom-properties': async (bench) => {
    const { customProperties: list, id, name } = bench.contract.names.calculatorsPage
    const { requestedPropertyIds } = await searches(bench)
    const { documents } = await calculatorPages(bench)
    const all = await properties(bench)
    const known = all.filter(({ saysOwned }) => saysOwned).map((property) => property.id)
    const perhapsOwned = all.filter(({ owned }) => owned).map((property) => property.id)
    const pages = documents.map((page) => objectsOf(at(page, list)))
    const named = (pages[0] ?? []).map((property) => said(property[id]))
    const isIn = (ids: readonly string[], id: string) => ids.some((one) => isSameId(one, id))
    const faults = [
      ...(new Set(pages.map((page) => JSON.stringify(page))).size > 1 ? ['pages differ'] : []),
      ...known.filter((wanted) => !isIn(named, wanted)).map((wanted) => `${wanted} is owned and missing`),
      ...named.filter((shown) => !isIn(perhapsOwned, shown)).map((shown) => `${shown} is not owned and listed`),
      ...(pages[0] ?? []).flatMap((property) => (textOf(property[name]) === null ? ['one without a name'] : [])),
    ]
    const left = requestedPropertyIds.length - named.length
    const seen = faultless(
      faults,
      `${named.length} owned ones on each of ${pages.length} pages, ${left} left out in silence`,
    )
    const several =
      pages.length > 1
        ? holds('the same on each')
        : notObserved('that it is the same on every page needs a search with several')
    const whose = known.length === 0 ? [notObserved('no property is known to be of the profile')] : []
    const absent = await absentEverywhere(bench, list, 'absent when none were asked for')
    return together(seen, several, ...whose, absent, await onlyRequested(bench))
  },
  'page/calculator-variables': given(calculatorPages, async ({ documents }, bench) => {
    const { calculatorVariables } = bench.contract.names.calculatorsPage
    const count = documents.reduce<number>((sum, page) => sum + objectsOf(at(page, calculatorVariables)).length, 0)
    const found = faultless(
      documents.flatMap((page) => variableFaults(bench, page)),
      `${count} variables, every one that is used`,
    )
    return together(found, await absentEverywhere(bench, calculatorVariables, 'absent when there is no value'))
  }),
  'page/companies': async (bench) => {
    const { companies } = bench.contract.names.calculatorsPage
    const { documents } = await calculatorPages(bench)
    const faults = faultsOf(documents, (page) => {
      const list = at(page, companies)
      return Array.isArray(list) && list.every(isObject) ? null : kindOf(list)
    })
    return faultless(faults, `${(await companiesSeen(bench)).length} companies on ${documents.length} pages`)
  },
  'company/id': member('companies', 'id', 'UUIDs', isUuid),
  'company/name': member('companies', 'name', 'strings', isText),
  'company/fields': given(searches, async ({ requestedPropertyIds }, bench) => {
    const shaped = await over('companies', bench, 'property id to strings', (company, { fields }) => {
      const strange = Object.keys(at(company, fields) ?? {}).find(
        (id) => !requestedPropertyIds.some((requested) => isSameId(requested, id)),
      )
      return strange === undefined ? mapFault('fields', company[fields], isListOfTexts) : `${strange} was not asked for`
    })
    return together(shaped, await resolvedFields(bench), await absentInCompanies(bench), await onlyRequested(bench))
  }),
  'company/calculators': async (bench) => {
    const { calculators } = bench.contract.names.calculatorsPage
    const { nowhere } = await narrowSearches(bench)
    const isEmpty = (list: unknown) => Array.isArray(list) && list.length === 0
    const none = (await companiesOn(bench, nowhere)).map((company) => company[calculators])
    const all = await companiesSeen(bench)
    const isLeftOut = workWasDone(bench, nowhere) && none.length === 0 && all.length > 0
    const others = isLeftOut ? ['no company'] : none.filter((list) => !isEmpty(list)).map(kindOf)
    // A search for a type that does not exist may be refused: what it is answered with is not shown.
    const seen = none.length > 0 || isLeftOut || all.some((company) => isEmpty(company[calculators]))
    const empty = seen
      ? judged(
          others.length === 0,
          'empty lists when nothing matches',
          `where nothing matches: ${[...new Set(others)].join(', ')}`,
        )
      : notObserved('no company without calculators came by')
    return together(await member('companies', 'calculators', 'arrays', Array.isArray)(bench), empty)
  },
  'calculator/id': member('calculators', 'id', 'UUIDs', isUuid),
  'calculator/type-id': async (bench) => {
    const { typeId } = bench.contract.names.calculatorsPage
    const shaped = await member('calculators', 'typeId', 'UUIDs', isUuid)(bench)
    const { oneType, typeId: wanted } = await narrowSearches(bench)
    if (oneType === null) return shaped
    const { calculators } = bench.contract.names.calculatorsPage
    const found = (await companiesOn(bench, oneType)).flatMap((company) => objectsOf(company[calculators]))
    const others = found.filter((calculator) => !isSameId(calculator[typeId], wanted))
    const end = judgeSearch(bench, oneType)
    return together(
      shaped,
      judged(
        end.verdict === 'holds' && found.length > 0 && others.length === 0,
        `selecting one type gave ${found.length} of it, ${others.length} of others`,
      ),
    )
  },
  'calculator/title': member('calculators', 'title', 'strings', isText),
  'calculator/period': async (bench) => {
    const names = bench.contract.names.calculatorsPage
    const all = await allCalculators(bench)
    const monthly = all.filter((calculator) => at(calculator, names.period, names.month) !== undefined).length
    const seen = `${monthly} with the name of a month, ${all.length - monthly} without`
    const kinds = monthly > 0 && monthly < all.length ? [] : [notObserved('needs a monthly and a yearly calculator')]
    return together(await over('calculators', bench, seen, (calculator) => periodFault(bench, calculator)), ...kinds)
  },
  'calculator/inputs': async (bench) => anyOf(await variables('inputs')(bench), await storedAsSent(bench)),
  'calculator/outputs': variables('outputs'),
}

type PageNames = Bench['contract']['names']['calculatorsPage']

/** The records of a page that are looked at, and how they are counted. */
const records = {
  companies: { gather: companiesSeen, none: 'no company came back', counted: '' },
  calculators: { gather: allCalculators, none: 'no company has a calculator', counted: ' calculators:' },
}
type Records = keyof typeof records

async function over(
  kind: Records,
  bench: Bench,
  seen: string,
  fault: (record: WireObject, names: PageNames) => string | null,
): Promise<Observation> {
  const { gather, none, counted } = records[kind]
  const found = await gather(bench)
  if (found.length === 0) return notObserved(none)
  const faults = faultsOf(found, (record) => fault(record, bench.contract.names.calculatorsPage))
  return faultless(faults, `${found.length}${counted} ${seen}`)
}

/** What a member of each record must be. */
function member(kind: Records, field: keyof PageNames, seen: string, isRight: (value: unknown) => boolean): Check {
  return (bench) =>
    over(kind, bench, seen, (record, { [field]: name }) => (isRight(record[name]) ? null : kindOf(record[name])))
}

/** The values of every calculator under one of its two members. */
function variables(field: 'inputs' | 'outputs'): Check {
  return (bench) =>
    over('calculators', bench, 'variable ids to strings', (calculator, { [field]: name }) =>
      mapFault(field, calculator[name], isFilledText),
    )
}

/** Those of the search, and where writing is allowed those of the hotel that was written to. */
async function allCalculators(bench: Bench): Promise<WireObject[]> {
  const written: WireObject[] = []
  await givenHotel(writeCalculators, ({ stored }) => {
    written.push(...(stored ?? []))
    return holds('')
  })(bench)
  return [...(await calculatorsSeen(bench)), ...written]
}

function valuesFault(bench: Bench, calculator: WireObject): string | null {
  const { inputs, outputs } = bench.contract.names.calculatorsPage
  return mapFault('inputs', calculator[inputs], isFilledText) ?? mapFault('outputs', calculator[outputs], isFilledText)
}

async function storedAsSent(bench: Bench): Promise<Observation> {
  return givenHotel(writeCalculators, (written) => judgeInput(bench, written, (value) => value === inputValues.march))(
    bench,
  )
}

async function companiesOn(bench: Bench, run: Parameters<typeof pagesOf>[1]): Promise<WireObject[]> {
  const { documents } = await pagesOf(bench, run)
  return documents.flatMap((page) => objectsOf(at(page, bench.contract.names.calculatorsPage.companies)))
}

async function absentEverywhere(bench: Bench, name: string, seen: string): Promise<Observation> {
  const { documents } = await pagesOf(bench, (await narrowSearches(bench)).nowhere)
  if (documents.length === 0) return notObserved('the narrow search has no page')
  return faultless(
    faultsOf(documents, (page) => (isObject(page) && !(name in page) ? null : `${name} is there all the same`)),
    seen,
  )
}

/** Every key of `fields` stands in the head of its page, which has what the profile owns. */
async function resolvedFields(bench: Bench): Promise<Observation> {
  const names = bench.contract.names.calculatorsPage
  const faults = (await calculatorPages(bench)).documents.flatMap((page) => {
    const listed = objectsOf(at(page, names.customProperties)).map((property) => property[names.id])
    const keys = objectsOf(at(page, names.companies)).flatMap((company) => Object.keys(at(company, names.fields) ?? {}))
    return keys
      .filter((key) => !listed.some((id) => isSameId(id, key)))
      .map((key) => `${key} is not in ${names.customProperties}`)
  })
  return faultless(faults, `each of them in ${names.customProperties}`)
}

async function absentInCompanies(bench: Bench): Promise<Observation> {
  const { fields } = bench.contract.names.calculatorsPage
  const companies = await companiesOn(bench, (await narrowSearches(bench)).nowhere)
  if (companies.length === 0) return notObserved('the narrow search has no company')
  return faultless(
    faultsOf(companies, (company) => (fields in company ? `fields is ${kindOf(company[fields])}` : null)),
    'absent when none apply',
  )
}

/** Of a search that leaves out one property that companies have, no page may show that one. */
async function onlyRequested(bench: Bench): Promise<Observation> {
  const names = bench.contract.names.calculatorsPage
  const { selected, leftOut } = await narrowSearches(bench)
  if (selected === null || leftOut === null || !workWasDone(bench, selected))
    return notObserved('that only what is asked for is shown needs a property of the profile')
  const { documents } = await pagesOf(bench, selected)
  const listed = documents.flatMap((page) =>
    objectsOf(at(page, names.customProperties)).map(({ [names.id]: id }) => id),
  )
  const keys = documents
    .flatMap((page) => objectsOf(at(page, names.companies)))
    .flatMap((company) => Object.keys(at(company, names.fields) ?? {}))
  return judged(
    ![...listed, ...keys].some((id) => isSameId(id, leftOut)),
    'what was not asked for is not shown',
    `${leftOut} was not asked for, and is shown`,
  )
}
