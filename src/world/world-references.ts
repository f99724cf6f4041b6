import type { WorldCompany } from './world-company.ts'
import type { WorldHead } from './world-head.ts'

/** What a head declares, for the lines that refer to it. */
type Declared = {
  groups: ReadonlySet<string>
  properties: ReadonlySet<string>
  calculatorTypes: ReadonlySet<string>
  standards: ReadonlySet<string>
  frameworks: ReadonlySet<string>
}

export function declaredIn(head: WorldHead): Declared {
  const ids = (all: readonly { id: string }[]) => new Set(all.map(({ id }) => id))
  return {
    groups: ids(head.groups),
    properties: ids(head.customProperties),
    calculatorTypes: ids(head.calculatorTypes),
    standards: ids(head.standards),
    frameworks: ids(head.frameworks),
  }
}

/** What is wrong with a head beyond its form: an id that stands twice, a reference that leads nowhere. */
export function faultsOfHead(head: WorldHead): string[] {
  const profiles = new Set(head.profiles.map(({ id }) => id))
  const { calculatorTypes } = declaredIn(head)
  const fields = new Set(head.fieldTypes.map(({ id }) => id))
  const twice = (what: string, keys: readonly (string | number)[]) =>
    keys.filter((key, at) => keys.indexOf(key) < at).map((key) => `${what}: ${key} stands twice`)
  const owned = (what: string, all: readonly { profileId: number }[]) =>
    all
      .filter(({ profileId }) => !profiles.has(profileId))
      .map(({ profileId }) => `${what}: there is no profile ${profileId}`)
  const lists = [
    'profiles',
    'groups',
    'customProperties',
    'frameworks',
    'standards',
    'calculatorTypes',
    'fieldTypes',
  ] as const
  return [
    ...lists.flatMap((list) =>
      twice(
        list,
        head[list].map(({ id }) => id),
      ),
    ),
    ...twice(
      'apiKeys',
      head.apiKeys.map(({ key }) => key),
    ),
    ...(['apiKeys', 'groups', 'customProperties'] as const).flatMap((list) => owned(list, head[list])),
    ...head.fieldTypes.flatMap(({ name, calculatorTypeIds }) =>
      missing(calculatorTypeIds, calculatorTypes).map((id) => `fieldTypes, ${name}: there is no calculator type ${id}`),
    ),
    ...head.outputVariables.flatMap(({ name, calculatorTypeId, terms, perFieldTypeId }) => [
      ...missing([calculatorTypeId], calculatorTypes).map(
        (id) => `outputVariables, ${name}: there is no calculator type ${id}`,
      ),
      ...missing(
        [...terms.map(({ fieldTypeId }) => fieldTypeId), ...(perFieldTypeId === null ? [] : [perFieldTypeId])],
        fields,
      ).map((id) => `outputVariables, ${name}: there is no field type ${id}`),
    ]),
  ]
}

/** References of a company that lead nowhere. */
export function faultsOfCompany(declared: Declared, company: WorldCompany): string[] {
  const named = (what: string, ids: readonly string[], known: ReadonlySet<string>) =>
    missing(ids, known).map((id) => `there is no ${what} ${id}`)
  return [
    ...named('group', company.groups, declared.groups),
    ...named('custom property', Object.keys(company.properties), declared.properties),
    ...named(
      'calculator type',
      company.calculators.map(({ typeId }) => typeId),
      declared.calculatorTypes,
    ),
    ...named(
      'standard',
      company.standards.map(({ standardId }) => standardId),
      declared.standards,
    ),
    ...named(
      'framework',
      company.periods.flatMap(({ frameworkIds }) => frameworkIds),
      declared.frameworks,
    ),
  ]
}

function missing(ids: readonly string[], known: ReadonlySet<string>): string[] {
  return [...new Set(ids)].filter((id) => !known.has(id))
}
