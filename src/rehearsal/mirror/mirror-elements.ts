import type { Contract } from '../../exchange/contract.ts'
import type { CustomProperty, FrameworkIndex, Group, UnitType } from '../../exchange/reference-data.ts'
import { integerOf, monthNumber, objectOf, textOf, uuidOf, type WireObject } from '../../exchange/wire-value.ts'
import { valueTypes, type WorldCompany, type WorldHead, worldDay, worldForm } from '../../world/world-form.ts'

/** What one element of a page says of one company. */
export type Part = Partial<WorldCompany> & { id: string }

/** Years that a world file holds; others are no reporting periods. */
const years = { first: 1900, last: 2100 }

/** A company on a page of the companies search; null where it has no id. Pure, like those below. */
export function companyPart(contract: Contract, element: unknown): Part | null {
  const names = contract.names.companiesPage
  const company = objectOf(element)
  const id = uuidOf(company?.[names.id])
  if (company === null || id === null) return null
  const place = objectOf(company[names.coordinates])
  return {
    id,
    name: textOf(company[names.name]) ?? '',
    street: textOf(company[names.street]),
    latitude: numberOf(place?.[names.latitude]),
    longitude: numberOf(place?.[names.longitude]),
    countryCode: textOf(company[names.countryCode]),
    hotelCode: textOf(company[names.hotelCode]),
    bookingId: textOf(company[names.bookingId]),
    properties: propertiesOf(company[names.fields]),
  }
}

/** A company on a calculator search page. A calculator that cannot be read is left out. */
export function calculatorsPart(contract: Contract, element: unknown): Part | null {
  const names = contract.names.calculatorsPage
  const company = objectOf(element)
  const id = uuidOf(company?.[names.id])
  if (company === null || id === null) return null
  const calculators = listed(company[names.calculators]).flatMap((calculator) => {
    const period = objectOf(calculator[names.period])
    const [own, typeId] = [uuidOf(calculator[names.id]), uuidOf(calculator[names.typeId])]
    const year = yearOf(period?.[names.year])
    const month = monthOf(period?.[names.month])
    if (own === null || typeId === null || year === null || month === undefined) return []
    const [inputs, outputs] = [textsOf(calculator[names.inputs]), textsOf(calculator[names.outputs])]
    return [{ id: own, typeId, year, month, inputs, outputs }]
  })
  return { id, name: textOf(company[names.name]) ?? '', properties: propertiesOf(company[names.fields]), calculators }
}

/** A company on a page of the framework answers search. */
export function answersPart(contract: Contract, element: unknown): Part | null {
  const names = contract.names.frameworkAnswersPage
  const { yearly, monthly } = contract.names.frameworkAnswers
  const company = objectOf(element)
  const id = uuidOf(company?.[names.id])
  if (company === null || id === null) return null
  const periods = listed(company[names.periods]).flatMap((period) => {
    const type = period[names.periodType]
    const year = yearOf(period[names.year])
    const month = monthOf(period[names.month])
    if ((type !== yearly && type !== monthly) || year === null || month === undefined) return []
    const answers = listed(period[names.answers]).flatMap((answer) => {
      const dataPointId = uuidOf(answer[names.dataPointId])
      const value = objectOf(answer[names.answer])
      return dataPointId === null || value === null
        ? []
        : [{ dataPointId, value, unitId: uuidOf(answer[names.unitId]) }]
    })
    return [
      {
        periodType: type === yearly ? ('Yearly' as const) : ('Monthly' as const),
        year,
        month: month ?? 1,
        frameworkIds: idsIn(period[names.frameworkIds]),
        answers: [...new Map(answers.map((answer) => [answer.dataPointId, answer])).values()],
        omissions: idsIn(listed(period[names.omissions]).map((omission) => omission[names.questionId])),
      },
    ]
  })
  return { id, name: textOf(company[names.name]) ?? '', properties: propertiesOf(company[names.fields]), periods }
}

/** Characters of a day: a page may write the time behind it. */
const dayLength = '2025-03-31'.length

/** A standard that a company holds. A day that does not exist is left out. */
export function holderPart(contract: Contract, element: unknown): Part | null {
  const names = contract.names.standardHoldersPage
  const holder = objectOf(element)
  const [id, standardId] = [uuidOf(holder?.[names.companyId]), uuidOf(holder?.[names.standardId])]
  if (holder === null || id === null || standardId === null) return null
  const day = (value: unknown) => worldDay.safeParse((textOf(value) ?? '').slice(0, dayLength)).data ?? null
  return {
    id,
    standards: [
      {
        standardId,
        level: textOf(holder[names.level]),
        startDate: day(holder[names.startDate]),
        expiryDate: day(holder[names.expiryDate]),
      },
    ],
  }
}

/** An element of the page of standards. */
export function standardOf(
  contract: Contract,
  element: unknown,
): { id: string; title: string; levels: string[] } | null {
  const names = contract.names.standardsPage
  const standard = objectOf(element)
  const id = uuidOf(standard?.[names.id])
  if (standard === null || id === null) return null
  const levels = Array.isArray(standard[names.levels]) ? (standard[names.levels] as unknown[]) : []
  return { id, title: textOf(standard[names.title]) || id, levels: levels.filter(isLevel) }
}

function isLevel(level: unknown): level is string {
  return typeof level === 'string' && level !== ''
}

/** An id and a name: of a variable in the head of a calculator search page. */
export function variableOf(contract: Contract, element: unknown): { id: string; name: string } | null {
  const names = contract.names.calculatorsPage
  const variable = objectOf(element)
  const id = uuidOf(variable?.[names.id])
  return id === null ? null : { id, name: textOf(variable?.[names.name]) ?? id }
}

function yearOf(value: unknown): number | null {
  const year = integerOf(value)
  return year !== null && year >= years.first && year <= years.last ? year : null
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** 1 to 12; null where no month is named; undefined where it cannot be read. */
function monthOf(value: unknown): number | null | undefined {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? monthNumber(value) : undefined
}

function listed(value: unknown): WireObject[] {
  const elements: unknown[] = Array.isArray(value) ? value : []
  return elements.map(objectOf).filter((element) => element !== null)
}

function idsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap((id) => uuidOf(id) ?? []) : []
}

function propertiesOf(value: unknown): Record<string, string[]> {
  const found = Object.entries(objectOf(value) ?? {}).flatMap(([key, values]): [string, string[]][] => {
    const id = uuidOf(key)
    if (id === null || !Array.isArray(values)) return []
    return [[id, values.filter((one) => typeof one === 'string')]]
  })
  return Object.fromEntries(found)
}

function textsOf(value: unknown): Record<string, string> {
  const found = Object.entries(objectOf(value) ?? {}).flatMap(([key, text]): [string, string][] => {
    const id = uuidOf(key)
    return id === null || typeof text !== 'string' ? [] : [[id, text]]
  })
  return Object.fromEntries(found)
}

/** The profile whose key was used. The service names it nowhere but in webhooks. */
const ownProfile = 1

/** The mirror's own key: open like every key of the sandbox, and never that of the deployment. */
const mirrorKey = 'mirror-key'

/** What the synchronous endpoints of a deployment show. */
export type Reference = {
  unitTypes: UnitType[]
  groups: Group[]
  customProperties: CustomProperty[]
  frameworks: FrameworkIndex[]
}

/** What the searches showed beside the companies. */
export type Seen = Pick<WorldHead, 'standards' | 'calculatorTypes' | 'fieldTypes' | 'outputVariables' | 'incomplete'>

/** The head of the world that a deployment shows to one profile. Pure. */
export function mirrorHead(reference: Reference, seen: Seen, mirrored: NonNullable<WorldHead['mirrored']>): WorldHead {
  const { unitTypes, groups, customProperties, frameworks } = reference
  const owners = ownersOf(customProperties)
  const units = unitTypes.map((type) => ({
    id: lower(type.id),
    name: type.name || type.id,
    units: type.units.map(({ id, name, abbreviation }) => ({
      id: lower(id),
      name: name || id,
      abbreviation: abbreviation ?? '',
    })),
  }))
  return {
    world: worldForm,
    mirrored,
    profiles: owners.profiles,
    apiKeys: [{ key: mirrorKey, profileId: ownProfile }],
    groups: groups.map(({ id, name }) => ({ id: lower(id), name, profileId: ownProfile })),
    customProperties: customProperties.map((property) => ({
      id: lower(property.id),
      name: property.name,
      type: /^(number|decimal|integer)$/i.test(property.type ?? '') ? 'Number' : 'String',
      isIdentifier: property.isIdentifier,
      profileId: owners.idOf(property),
    })),
    unitTypes: units,
    frameworks: frameworks.map((framework) => mirrorFramework(framework, units)),
    ...seen,
  }
}

/** Profiles by the names of owners; what does not say whose it is counts as the key's own. */
function ownersOf(properties: readonly CustomProperty[]) {
  const own = properties.find(({ isOwnedByInvokingCompany }) => isOwnedByInvokingCompany === true)
  const isForeign = (property: CustomProperty) => property.isOwnedByInvokingCompany === false
  const others = [...new Set(properties.filter(isForeign).map(({ ownerName }) => ownerName || 'Another profile'))]
  return {
    profiles: [own?.ownerName || 'The profile of the key', ...others].map((name, at) => ({
      id: ownProfile + at,
      name,
    })),
    idOf: (property: CustomProperty) =>
      isForeign(property) ? ownProfile + 1 + others.indexOf(property.ownerName || 'Another profile') : ownProfile,
  }
}

/**
 * A framework of the same questions, data points, units and options. What stands between the framework and its
 * questions is one level each: nothing refers to it. A data point without a question is asked by one of its own id.
 */
function mirrorFramework(index: FrameworkIndex, unitTypes: WorldHead['unitTypes']): WorldHead['frameworks'][number] {
  const id = lower(index.id)
  const title = index.title || index.id
  const titleOf = (inner: string) => index.titles[inner] || inner
  const loose = index.dataPoints.filter(({ questionId }) => questionId === null).map((point) => point.id)
  const questions = [...new Set([...index.questionIds, ...loose])].map((questionId) => ({
    id: lower(questionId),
    title: titleOf(questionId),
    dataPoints: index.dataPoints
      .filter((point) => (point.questionId ?? point.id) === questionId)
      .map((point) => ({
        id: lower(point.id),
        title: titleOf(point.id),
        valueType: valueTypeOf(point.valueType),
        reportingPeriodType: periodOf(point.reportingPeriodType),
        unitTypes: takenUnits(point.unitIds.map(lower), unitTypes),
        min: null,
        max: null,
        options: point.optionIds.map((option) => ({ id: lower(option), title: titleOf(option) })),
      })),
  }))
  const cluster = { id, title, questions }
  return { id, title, topics: [{ id, title, subtopics: [{ id, title, clusters: [cluster] }] }] }
}

/** The unit types of which a data point takes a unit, each with the units that it takes. */
function takenUnits(ids: readonly string[], unitTypes: WorldHead['unitTypes']): WorldHead['unitTypes'] {
  return unitTypes
    .map((type) => ({ ...type, units: type.units.filter(({ id }) => ids.includes(id)) }))
    .filter(({ units }) => units.length > 0)
}

function valueTypeOf(name: string | null): (typeof valueTypes)[number] | 'any' {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, '')
  return valueTypes.find((known) => plain(known) === plain(name ?? '')) ?? 'any'
}

function periodOf(name: string | null): 'Yearly' | 'Monthly' | 'Any' {
  const known = (['Yearly', 'Monthly'] as const).find((one) => one.toLowerCase() === name?.toLowerCase())
  return known ?? 'Any'
}

function lower(id: string): string {
  return id.toLowerCase()
}
