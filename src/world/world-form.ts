import { z } from 'zod'

/** The version of the form that is written, and the only one that is read. */
export const worldForm = 1

const id = z.guid().toLowerCase()
const name = z.string().min(1)
const titled = { id, title: name }
const profileId = z.int().nonnegative()

const unitType = z.strictObject({
  id,
  name,
  units: z.array(z.strictObject({ id, name, abbreviation: z.string() })),
})

export const valueTypes = ['text', 'number', 'boolean', 'date', 'dateRange', 'list'] as const

const dataPoint = z.strictObject({
  ...titled,
  valueType: z
    .enum([...valueTypes, 'any'])
    .describe('What an answer is: `any` takes every form, for a type whose name nobody knows.'),
  reportingPeriodType: z.enum(['Yearly', 'Monthly', 'Any']).describe('The periods for which it is asked.'),
  unitTypes: z.array(unitType).default([]).describe('Whose units an answer may carry; empty: an answer has no unit.'),
  min: z.number().nullable().default(null).describe('The smallest number that is taken; null: any.'),
  max: z.number().nullable().default(null).describe('The largest number that is taken; null: any.'),
  options: z.array(z.strictObject(titled)).default([]).describe('The options of a list.'),
})
const question = z.strictObject({ ...titled, dataPoints: z.array(dataPoint) })
const cluster = z.strictObject({ ...titled, questions: z.array(question) })
const subtopic = z.strictObject({ ...titled, clusters: z.array(cluster) })
const topic = z.strictObject({ ...titled, subtopics: z.array(subtopic) })

const mirrored = z.strictObject({
  from: z.string().describe('The address of the deployment.'),
  at: z.iso.datetime().describe('When the last answer was read.'),
  notSeen: z.array(z.string()).describe('What a mirror cannot see, or could not, in words for people.'),
})

/** The first line of a world file: everything but the companies. */
export const worldHead = z.strictObject({
  world: z.literal(worldForm).describe('The version of this form: 1.'),
  mirrored: mirrored.nullable().default(null).describe('Where and when a mirror was taken; null: made by hand.'),
  profiles: z
    .array(z.strictObject({ id: profileId, name }))
    .min(1)
    .describe('Who acts at the service.'),
  apiKeys: z
    .array(z.strictObject({ key: name, profileId }))
    .default([])
    .describe("The sandbox's own keys, open to everybody who reads the file; never a key of a real service."),
  groups: z
    .array(z.strictObject({ id, name: z.string(), profileId }))
    .default([])
    .describe('Groups of companies, and which profile can use each; a mapping joins the first group of its profile.'),
  customProperties: z
    .array(
      z.strictObject({
        id,
        name: z.string(),
        type: z.enum(['String', 'Number']),
        isIdentifier: z.boolean(),
        profileId,
      }),
    )
    .default([])
    .describe('Custom properties, and which profile owns each.'),
  unitTypes: z.array(unitType).default([]).describe('Unit types with their units.'),
  frameworks: z
    .array(z.strictObject({ ...titled, topics: z.array(topic) }))
    .default([])
    .describe('Frameworks down to the data points: topics, subtopics, clusters, questions.'),
  standards: z
    .array(z.strictObject({ ...titled, levels: z.array(name).default([]) }))
    .default([])
    .describe('Certifications and commitments; without levels: none is demanded.'),
  calculatorTypes: z.array(z.strictObject(titled)).default([]).describe('Kinds of calculators.'),
  fieldTypes: z
    .array(z.strictObject({ id, name: z.string(), unit: z.string().default(''), calculatorTypeIds: z.array(id) }))
    .default([])
    .describe('What calculators are fed, and which kinds of calculators take each.'),
  outputVariables: z
    .array(
      z.strictObject({
        id,
        name: z.string(),
        calculatorTypeId: id,
        terms: z
          .array(z.strictObject({ fieldTypeId: id, factor: z.string().regex(/^-?\d+(\.\d+)?$/) }))
          .default([])
          .describe(
            'Inputs times factors, summed up; empty: nobody knows the formula, and a value stays as it stands.',
          ),
        perFieldTypeId: id.nullable().default(null).describe('The input by which the sum is divided.'),
      }),
    )
    .default([])
    .describe('What calculators yield.'),
  incomplete: z
    .array(z.enum(['fieldTypes', 'standards']))
    .default([])
    .describe('Lists of which nobody knows that they are complete: what they do not hold is taken, and not refused.'),
})

/** Everything of a world but its companies. */
export type WorldHead = z.output<typeof worldHead>

const text = z.string().nullable().default(null)
/** A calendar date. Postgres, which is to hold it, has no year zero. */
export const worldDay = z.iso.date().refine((date) => date >= '0001', 'there is no year zero')
const day = worldDay.nullable().default(null)
const year = z.int().min(1900).max(2100)
const month = z.int().min(1).max(12)
const valuesByProperty = z.record(id, z.array(z.string())).default({})
const valuesByVariable = z.record(id, z.string()).default({})

const calculator = z.strictObject({
  id: id.describe('The calculator instance.'),
  typeId: id,
  year,
  month: month.nullable().default(null).describe('1 to 12; null: a yearly calculator.'),
  inputs: valuesByVariable.describe('Texts by field type.'),
  outputs: valuesByVariable.describe('Texts by output variable.'),
})

const period = z.strictObject({
  periodType: z.enum(['Yearly', 'Monthly']),
  year,
  month: month.default(1).describe('Of a yearly period: the month in which it starts.'),
  frameworkIds: z.array(id).default([]).describe('The frameworks that are assigned for the period.'),
  answers: z
    .array(
      z.strictObject({
        dataPointId: id,
        value: z.record(z.string(), z.unknown()).describe('The answer as it stands on the wire.'),
        unitId: id.nullable().default(null),
      }),
    )
    .default([]),
  omissions: z.array(id).default([]).describe('Ids of the questions that are declined.'),
})

/** A line of a world file below the first: one company. */
export const worldCompany = z.strictObject({
  id: id.describe('The company id of the service.'),
  name: z.string(),
  street: text,
  latitude: z.number().nullable().default(null),
  longitude: z.number().nullable().default(null),
  countryCode: text,
  hotelCode: text,
  bookingId: text,
  groups: z
    .array(id)
    .default([])
    .describe('The groups that it is in; in none: no profile can use it, and mappings find it.'),
  properties: valuesByProperty.describe(
    'Lists of texts, by custom property; of an identifier: the ids under which partners know the company.',
  ),
  automaticYearlyCalculation: z.boolean().default(false),
  automaticPublishing: z.boolean().default(false),
  calculators: z.array(calculator).default([]),
  periods: z.array(period).default([]).describe('What was answered, by reporting period.'),
  standards: z
    .array(z.strictObject({ standardId: id, level: text, startDate: day, expiryDate: day }))
    .default([])
    .describe('The standards that it holds.'),
})

/** One company of a world. */
export type WorldCompany = z.output<typeof worldCompany>

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

/** A world file cannot be read or written, or does not say what a world is. `code` is stable. */
export class WorldFileError extends Error {
  readonly code: 'world_file_unreadable' | 'world_file_invalid' | 'world_file_not_written'

  constructor(code: WorldFileError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
