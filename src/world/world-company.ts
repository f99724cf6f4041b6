import { z } from 'zod'

const id = z.guid().toLowerCase()
const text = z.string().nullable().default(null)
const day = z.iso.date().nullable().default(null)
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
    'Values by custom property; those of an identifier are the ids under which partners know the company.',
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
