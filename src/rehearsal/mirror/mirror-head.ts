import type { CustomProperty, FrameworkIndex, Group, UnitType } from '../../exchange/reference-data.ts'
import { valueTypes, type WorldHead, worldForm } from '../../world/world-head.ts'

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
