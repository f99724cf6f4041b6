import type { StreamName } from '../../config/schema.ts'

/** What people are told of a stream: `docs/streams.md` is generated from it. */
export type StreamColumns = {
  /** What one row of the query is, in Markdown. */
  about: string
  /** The columns that the query must yield, each with its meaning: an interface. */
  columns: Readonly<Record<string, string>>
  /** What does not fit beside a single column, in Markdown; a paragraph each. */
  notes?: readonly string[]
}

const hotel = 'Your id of the hotel.'
const year = 'Four digits.'
const periodType = '`Yearly` or `Monthly`.'

/** The columns of every stream. Their order is that in which the values of a row are read. */
export const streamColumns = {
  properties: {
    about: 'One row per hotel. The row travels in a company-mappings request, by which the service finds its company.',
    columns: {
      partner_id: 'Your id of the hotel, never empty; every other stream names the hotel by it.',
      name: 'The name of the hotel.',
      street: 'Its street.',
      latitude: 'Degrees, -90 to 90, only together with the longitude.',
      longitude: 'Degrees, -180 to 180, only together with the latitude.',
      country_code: 'The code of its country.',
      airport_code: 'The code of its airport.',
      hotel_code: 'Its code in the hotel industry.',
      booking_id: 'Its id at a booking platform.',
    },
    notes: [
      'Nightferry leaves details that are null out of the request. A row with nothing but its id is invalid, because the service has nothing to match by.',
    ],
  },
  framework_answers: {
    about: 'One row per answer to a data point, for one hotel and period.',
    columns: {
      partner_id: hotel,
      framework_id: 'The framework to assign to the company for the period; null assigns none.',
      period_type: periodType,
      year,
      month: '1 to 12; of a yearly period it is the month in which the year starts, and null means January.',
      data_point_id: 'Id of a data point in a framework of the service.',
      value: 'The answer as text, never null.',
      value_type: 'How to read `value`; null lets the framework decide.',
      unit_id: 'Id of a unit, not of a unit type; null if and only if the data point has no units.',
    },
    notes: [
      'The column `value_type` is one of these words:',
      [
        '- `text`',
        '- `number`. A number that a JSON number cannot hold digit by digit is invalid. Nightferry does not round it.',
        '- `boolean`: `true` or `false`',
        '- `date`: `2025-03-31`',
        '- `date_range`: `2025-01-01/2025-03-31`',
        '- `list`: the ids of options, as a JSON array or separated by commas',
      ].join('\n'),
    ],
  },
  omissions: {
    about: 'One row per question that a hotel deliberately does not answer.',
    columns: {
      partner_id: hotel,
      period_type: periodType,
      year,
      month: '1 to 12; null as in `framework_answers`.',
      question_id: 'Id of a question in a framework of the service.',
    },
  },
  calculator_inputs: {
    about:
      'One row per input value. All rows of a hotel and period make up one row of the ledger, and they travel together.',
    columns: {
      partner_id: hotel,
      year,
      month: '1 to 12; null for a yearly calculator.',
      field_type_id: 'Id of the field type: what the value is of.',
      value: 'Nightferry sends this very text.',
    },
    notes: [
      'A null `value` takes back a value that was there before: Nightferry sends it blank. [What the specification leaves open](spec-gaps.md#absent-inputs) says why.',
    ],
  },
  calculator_settings: {
    about: 'At most one row per hotel.',
    columns: {
      partner_id: hotel,
      automatic_yearly_calculation: '`true`, `false`, or null to leave the setting as it is.',
      automatic_publishing: '`true`, `false`, or null to leave the setting as it is.',
    },
  },
  custom_property_values: {
    about: 'One row per value of a custom property of a hotel.',
    columns: {
      partner_id: hotel,
      property_id: 'Id of a custom property that is not the identifier.',
      value: 'The value, never null.',
    },
  },
  standard_holders: {
    about: 'One row per certification or commitment of a hotel.',
    columns: {
      partner_id: hotel,
      standard_id: 'Id of the standard that the hotel holds.',
      level: 'The level at which it holds the standard.',
      start_date: 'The day from which it holds the standard.',
      expiry_date: 'The day on which this ends.',
    },
    notes: ["Nightferry sends dates as your query prints them; `to_char(…, 'YYYY-MM-DD')` is safe."],
  },
} as const satisfies Record<StreamName, StreamColumns>
