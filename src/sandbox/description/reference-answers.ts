import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { document, oncePer, uuid } from './document.ts'

/** Unit types, groups, custom properties and frameworks. */
export const referenceAnswers = oncePer((contract: Contract) => {
  const { names } = contract
  const named = { id: uuid, name: z.string().min(1) }
  const customProperty = document(names.customProperties, {
    ...named,
    type: z
      .string()
      .min(1)
      .meta({ examples: ['String', 'Number'] }),
    isIdentifier: z.boolean().meta({ description: 'Whether it can serve as a custom identifier.' }),
    isOwnedByInvokingCompany: z.boolean(),
    ownerName: z.string().optional(),
  }).meta({ id: 'CustomProperty' })
  const unitType = unitTypeOf(contract)
  return {
    unitTypes: z.array(unitType),
    groups: z.array(document(names.groups, named).meta({ id: 'Group' })),
    customProperties: z.array(customProperty),
    frameworks: z.array(document(names.frameworks, { id: uuid, title: z.string() }).meta({ id: 'FrameworkSummary' })),
    framework: framework(contract, unitType),
  }
})

function unitTypeOf({ names: { unitTypes: names } }: Contract): z.ZodType {
  const unit = document(names, { id: uuid, name: z.string(), abbreviation: z.string() }).meta({ id: 'Unit' })
  return document(names, { id: uuid, name: z.string().min(1), units: z.array(unit) }).meta({ id: 'UnitType' })
}

/** The tree of a framework, told from its leaves. */
function framework({ names: { frameworks: names } }: Contract, unitType: z.ZodType): z.ZodType {
  const titled = { id: uuid, title: z.string() }
  const option = document(names, titled).meta({ id: 'Option' })
  const dataPoint = document(names, {
    ...titled,
    valueType: z.enum(['text', 'number', 'boolean', 'date', 'dateRange', 'list']),
    reportingPeriodType: z.enum(['Yearly', 'Monthly', 'Any']),
    unitTypes: z.array(unitType).meta({ description: 'Their units can be given with an answer; empty: none is.' }),
    options: z.array(option).optional().meta({ description: 'What list answers choose from; of lists only.' }),
  }).meta({ id: 'DataPoint' })
  const question = document(names, { ...titled, dataPoints: z.array(dataPoint) }).meta({ id: 'Question' })
  const cluster = document(names, { ...titled, questions: z.array(question) }).meta({ id: 'Cluster' })
  const subtopic = document(names, { ...titled, clusters: z.array(cluster) }).meta({ id: 'Subtopic' })
  const topic = document(names, { ...titled, subtopics: z.array(subtopic) }).meta({ id: 'Topic' })
  return document(names, { ...titled, topics: z.array(topic) }).meta({ id: 'Framework' })
}
