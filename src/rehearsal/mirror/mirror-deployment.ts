import { PageFormatError } from '../../pipeline/reading/page-limits.ts'
import { readableFrameworks } from '../../pipeline/reference/reference-items.ts'
import { saveWorldFile } from '../../world/world-file.ts'
import {
  answersPart,
  calculatorsPart,
  companyPart,
  holderPart,
  mirrorHead,
  type Part,
  type Reference,
  type Seen,
  standardOf,
  variableOf,
} from './mirror-elements.ts'
import { openPartStore, type PartStore } from './mirror-parts.ts'
import { type MirrorDeps, type MirrorSearch, runSearch } from './mirror-search.ts'

/** What no profile is shown, whatever the deployment. */
const neverSeen = [
  'companies that the profile cannot use: a property that is mapped for the first time may be found there, and is not here',
  'which of the groups a company is in: here it is in all that the key shows',
  'limits of numbers, dates and texts that the service does not publish',
  'field types that no calculator holds a value of; which of several calculators takes one; formulas of outputs',
  'switches for yearly calculation and publishing; certification applications; webhooks',
  'rate limits, and how long a task takes',
]

type Mirrored = { companies: number; bytes: number; notSeen: string[] }

/**
 * Writes a world file of what a deployment shows to the profile of the key: reference data and everything that the
 * searches bring, under the same ids. Sends nothing but GET requests and searches. Written whole or not at all; on the
 * disk it takes twice its size while it is made.
 * @param file the world file; what was there is replaced at the very end.
 * @throws {MirrorFailed} {HttpError} {TransportError} {DownloadRefused} {WorldFileError}
 */
export async function mirrorDeployment(deps: MirrorDeps, file: string): Promise<Mirrored> {
  const reference = await readReference(deps)
  const parts = await openPartStore(`${file}.parts-`)
  try {
    const { seen, notSeen } = await search(deps, reference, parts)
    const groups = reference.groups.map(({ id }) => id.toLowerCase())
    const identifiers = new Set(
      reference.customProperties.filter((one) => one.isIdentifier).map(({ id }) => id.toLowerCase()),
    )
    const mirrored = { from: new URL(deps.baseUrl).origin, at: deps.now().toISOString(), notSeen }
    const companies = parts.companies(groups, (property) => identifiers.has(property))
    return { ...(await saveWorldFile(file, mirrorHead(reference, seen, mirrored), companies)), notSeen }
  } finally {
    await parts.remove()
  }
}

async function readReference({ service, tell }: MirrorDeps): Promise<Reference> {
  // The cheapest call says whether the key is accepted (Authentication 5).
  const unitTypes = await service.getUnitTypes()
  const groups = await service.getGroups()
  const customProperties = await service.getCustomProperties()
  const frameworks = await readableFrameworks(service, (_id, { message }) => tell(`left out: ${message}`))
  tell(`groups: ${groups.length}, custom properties: ${customProperties.length}, frameworks: ${frameworks.length}`)
  return { unitTypes, groups, customProperties, frameworks }
}

/** Sends one search after the other: a deployment should not notice that it is mirrored. */
async function search(
  deps: MirrorDeps,
  { customProperties, frameworks }: Reference,
  parts: PartStore,
): Promise<{ seen: Seen; notSeen: string[] }> {
  const { names } = deps.contract
  const notSeen: string[] = []
  const owned = customProperties.filter(({ isOwnedByInvokingCompany }) => isOwnedByInvokingCompany !== false)
  const propertyIds = owned.map(({ id }) => id)
  const catalogue = createCatalogue()

  const run = async <K extends string>(
    name: MirrorSearch,
    body: object,
    lists: Record<string, K>,
    take: (kind: K, element: unknown) => Promise<void>,
  ): Promise<boolean> => {
    const [required = ''] = Object.keys(lists)
    const wanted = { search: name, body, lists: new Map(Object.entries(lists)), required, folder: parts.folder }
    const result = await runSearch(deps, wanted, take).catch((error: unknown) => {
      if (error instanceof PageFormatError) return { refused: error.message }
      throw error
    })
    if (!('refused' in result)) return true
    notSeen.push(`what ${name} would show: ${result.refused}`)
    await parts.drop(name)
    return false
  }
  const known = {
    properties: new Set(customProperties.map(({ id }) => id.toLowerCase())),
    frameworks: new Set(frameworks.map(({ id }) => id.toLowerCase())),
  }
  const keep = (name: MirrorSearch, part: Part | null) =>
    part === null ? Promise.resolve() : parts.add(name, withKnown(part, known))

  await run(
    'companiesSearch',
    { [names.companiesSearch.customPropertyIds]: propertyIds },
    { [names.companiesPage.companies]: 'company' },
    (_, element) => keep('companiesSearch', companyPart(deps.contract, element)),
  )
  const standardsSeen = await run(
    'standardsSearch',
    {},
    { [names.standardsPage.standards]: 'standard' },
    async (_, element) => catalogue.standard(standardOf(deps.contract, element)),
  )
  if (!standardsSeen) catalogue.standards.clear()
  await run(
    'standardHoldersSearch',
    { [names.standardHoldersSearch.standardIds]: [] },
    { [names.standardHoldersPage.holders]: 'holder' },
    async (_, element) => {
      const part = holderPart(deps.contract, element)
      // A standard that nothing else names is there all the same, and a line may refer to it.
      for (const { standardId } of part?.standards ?? []) catalogue.mention(standardId)
      await keep('standardHoldersSearch', part)
    },
  )
  await run(
    'frameworkAnswersSearch',
    { [names.frameworkAnswersSearch.frameworkIds]: [], [names.frameworkAnswersSearch.customPropertyIds]: propertyIds },
    { [names.frameworkAnswersPage.companies]: 'company' },
    (_, element) => keep('frameworkAnswersSearch', answersPart(deps.contract, element)),
  )
  await run(
    'calculatorsSearch',
    { [names.calculatorsSearch.customPropertyIds]: propertyIds, [names.calculatorsSearch.calculatorTypeIds]: [] },
    { [names.calculatorsPage.companies]: 'company', [names.calculatorsPage.calculatorVariables]: 'variable' },
    async (kind, element) => {
      if (kind === 'variable') return catalogue.variable(variableOf(deps.contract, element))
      const part = calculatorsPart(deps.contract, element)
      catalogue.calculators(part)
      await keep('calculatorsSearch', part)
    },
  )
  return { seen: catalogue.seen(standardsSeen), notSeen: [...notSeen, ...neverSeen] }
}

/** A part without what the reference data do not name: nothing in a world file may refer to it. Pure. */
function withKnown(part: Part, known: { properties: ReadonlySet<string>; frameworks: ReadonlySet<string> }): Part {
  const { properties = {}, periods } = part
  return {
    ...part,
    properties: Object.fromEntries(Object.entries(properties).filter(([id]) => known.properties.has(id))),
    ...(periods !== undefined && {
      periods: periods.map((period) => ({
        ...period,
        frameworkIds: period.frameworkIds.filter((id) => known.frameworks.has(id)),
      })),
    }),
  }
}

/** What the pages name, gathered: standards, and the types and variables of calculators. */
function createCatalogue() {
  const standards = new Map<string, Seen['standards'][number]>()
  const names = new Map<string, string>()
  const inputs = new Map<string, Set<string>>()
  const outputs = new Map<string, Set<string>>()
  const note = (of: Map<string, Set<string>>, variable: string, type: string) =>
    of.set(variable, (of.get(variable) ?? new Set()).add(type))
  const types = new Set<string>()
  return {
    standards,
    standard: (found: Seen['standards'][number] | null) => void (found !== null && standards.set(found.id, found)),
    mention: (id: string) => void (standards.has(id) || standards.set(id, { id, title: id, levels: [] })),
    variable: (found: { id: string; name: string } | null) => void (found !== null && names.set(found.id, found.name)),
    calculators: (part: Part | null) => {
      for (const calculator of part?.calculators ?? []) {
        types.add(calculator.typeId)
        for (const id of Object.keys(calculator.inputs)) note(inputs, id, calculator.typeId)
        for (const id of Object.keys(calculator.outputs)) note(outputs, id, calculator.typeId)
      }
    },
    seen: (standardsSeen: boolean): Seen => ({
      standards: [...standards.values()],
      // A page gives each calculator a title of its own, and none to its type.
      calculatorTypes: [...types].map((id) => ({ id, title: `Calculator type ${id}` })),
      fieldTypes: [...inputs].map(([id, of]) => ({
        id,
        name: names.get(id) ?? id,
        unit: '',
        calculatorTypeIds: [...of],
      })),
      outputVariables: [...outputs].flatMap(([id, of]) =>
        [...of].map((calculatorTypeId) => {
          return { id, name: names.get(id) ?? id, calculatorTypeId, terms: [], perFieldTypeId: null }
        }),
      ),
      incomplete: standardsSeen ? ['fieldTypes'] : ['fieldTypes', 'standards'],
    }),
  }
}
