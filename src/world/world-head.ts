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
