import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { StreamName } from '../../../src/config/schema.ts'
import type { RunReport } from '../../../src/pipeline/report/report.ts'
import { streams as ourStreams } from '../../../src/pipeline/streams/our-streams.ts'
import { catalogue } from '../../../src/sandbox/catalogue.ts'
import { nightferry, workingFolder } from '../../cli/nightferry-process.ts'
import { some } from '../../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../../helpers/world.ts'

type Row = Record<string, string>
type Framework = (typeof catalogue.frameworks)[number]

const [hotelFramework, coast] = catalogue.frameworks as unknown as [Framework, Framework]
const questionsOf = (framework: Framework) =>
  framework.topics
    .flatMap(({ subtopics }) => subtopics)
    .flatMap(({ clusters }) => clusters)
    .flatMap(({ questions }) => questions)
const pointsOf = (framework: Framework) => questionsOf(framework).flatMap(({ dataPoints }) => dataPoints)
const point = (title: string) => {
  const found = [...pointsOf(hotelFramework), ...pointsOf(coast)].find((one) => one.title === title)
  if (found === undefined) throw new Error(`the catalogue has no data point ${title}`)
  return found
}
const unit = (name: string) =>
  catalogue.unitTypes.flatMap(({ units }) => units).find((one) => one.name === name)?.id ?? ''

const nobody = '00000000-0000-4000-8000-000000000000'
const energy = point('Electricity bought')
const waste = point('Waste generated')
const sources = point('Energy sources on site')
const remarks = point('Remarks on water quality')
const inspected = point('Date of the latest water inspection')
const target = point('Energy target period')
const goal = point('Energy reduction target set')
const kWh = unit('Kilowatt hour')
const year = { period_type: 'Yearly', year: '2025' }
const answer = { ...year, data_point_id: energy.id, value: '12', unit_id: kWh }
const typo = `${energy.id.slice(0, -1)}${energy.id.endsWith('0') ? '1' : '0'}`
const standard = catalogue.standards[0]?.id ?? ''
const field = catalogue.fieldTypes[0]?.id ?? ''

/** One row each that cannot be right, and what is said of it. */
const cases: [StreamName, Row, RegExp][] = [
  ['properties', { name: '' }, /nothing to match by/],
  ['properties', { name: 'A', latitude: '1' }, /must come together/],
  ['properties', { name: 'A', latitude: '91', longitude: '1' }, /latitude 91 is not between/],
  ['properties', { name: 'A', latitude: 'NaN', longitude: '1' }, /latitude NaN/],
  ['properties', { name: 'A', country_code: 'DNK' }, /two letters/],
  ['properties', { name: 'A', airport_code: 'EKCH' }, /three letters/],
  ['properties', { name: 'A\u0008' }, /control character U\+0008/],
  ['properties', { name: 'x'.repeat(2001) }, /push\.maxTextLength allows 2000/],
  ['framework_answers', { ...answer, period_type: 'Weekly' }, /neither Yearly nor Monthly/],
  ['framework_answers', { ...answer, year: '25' }, /no year/],
  ['framework_answers', { ...answer, year: '1325' }, /not between 1900 and 2100/],
  ['framework_answers', { ...answer, month: '13' }, /month '13'/],
  ['framework_answers', { ...answer, data_point_id: 'x' }, /is no id/],
  ['framework_answers', { ...answer, data_point_id: nobody }, /in no framework of the service$/],
  ['framework_answers', { ...answer, data_point_id: typo }, /"Electricity bought" \(.*\) is close to it/],
  ['framework_answers', { ...answer, framework_id: nobody }, /none of the service's\. There are: "Responsible Hotel"/],
  [
    'framework_answers',
    { ...answer, framework_id: coast.id },
    /not in the framework "Living Coast".*"Responsible Hotel"/,
  ],
  [
    'framework_answers',
    { ...year, data_point_id: waste.id, value: '1', unit_id: unit('Tonne') },
    /reported Monthly, not Y/,
  ],
  ['framework_answers', { ...answer, value_type: 'text' }, /"Electricity bought".*which takes number/],
  ['framework_answers', { ...answer, value_type: 'numeric' }, /none of text, number/],
  ['framework_answers', { ...year, data_point_id: remarks.id, value: ' ' }, /value is empty/],
  ['framework_answers', { ...answer, value: 'many' }, /is no number/],
  ['framework_answers', { ...answer, value: '0.12345678901234567890123' }, /more digits than a JSON number keeps/],
  ['framework_answers', { ...year, data_point_id: inspected.id, value: '2025-02-30' }, /is no date/],
  ['framework_answers', { ...year, data_point_id: target.id, value: '2026-01-01/2025-01-01' }, /is no date range/],
  ['framework_answers', { ...year, data_point_id: goal.id, value: 'yes' }, /is no boolean/],
  ['framework_answers', { ...answer, unit_id: unit('Litre') }, /it is the unit Litre. It takes: "Kilowatt hour"/],
  ['framework_answers', { ...year, data_point_id: energy.id, value: '1' }, /needs a unit_id, one of: "Kilowatt hour"/],
  ['framework_answers', { ...answer, unit_id: 'MWh' }, /what the unit is called; its id is needed/],
  ['framework_answers', { ...year, data_point_id: remarks.id, value: 'x', unit_id: kWh }, /takes no unit/],
  ['framework_answers', { ...year, data_point_id: sources.id, value: 'Solar' }, /its id is needed/],
  ['framework_answers', { ...year, data_point_id: sources.id, value: '[]' }, /no list of option ids/],
  [
    'framework_answers',
    { ...year, data_point_id: sources.id, value: energy.id },
    /it is the data point "Electricity bought"/,
  ],
  [
    'framework_answers',
    { ...year, data_point_id: sources.id, value: `${sources.options[0]?.id},${sources.options[0]?.id}` },
    /twice/,
  ],
  [
    'omissions',
    { ...year, question_id: energy.id },
    /it is the data point "Electricity bought" of the question "How much/,
  ],
  ['omissions', { ...year, question_id: 'x' }, /is no id/],
  ['calculator_inputs', { year: 'x', field_type_id: field, value: '1' }, /no year/],
  ['calculator_inputs', { year: '2025', field_type_id: 'x', value: '1' }, /field_type_id 'x' is no id/],
  ['calculator_settings', { automatic_publishing: 'maybe' }, /neither true nor false/],
  ['calculator_settings', {}, /neither switch is set/],
  ['custom_property_values', { property_id: nobody, value: 'x' }, /none that this key can see/],
  ['custom_property_values', { property_id: catalogue.customIdentifierId, value: 'x' }, /is the identifier/],
  [
    'custom_property_values',
    { property_id: catalogue.otherCustomIdentifierId, value: 'x' },
    /belongs to Harbour & Hill/,
  ],
  ['custom_property_values', { property_id: catalogue.roomsPropertyId, value: 'many' }, /takes numbers/],
  ['custom_property_values', { property_id: catalogue.brandPropertyId }, /value is empty/],
  ['standard_holders', { standard_id: 'gold' }, /is no id/],
  ['standard_holders', { standard_id: standard, level: '' }, /level is blank/],
  ['standard_holders', { standard_id: standard, start_date: '1.1.2025' }, /is no date/],
  ['standard_holders', { standard_id: standard, start_date: '2025-02-01', expiry_date: '2025-01-01' }, /is before/],
]

/** Rows that are each right, and wrong together. */
const energyQuestion = questionsOf(hotelFramework).find(({ dataPoints }) => dataPoints.includes(energy))?.id ?? ''
const together: [StreamName, Row, RegExp][] = [
  [
    'framework_answers',
    { partner_id: 'both', ...answer, framework_id: hotelFramework.id },
    /is declined for the same period/,
  ],
  ['omissions', { partner_id: 'both', ...year, question_id: energyQuestion }, /is answered for the same period/],
]

/** The partner's tables, all texts, and a configuration that reads them. */
async function partnerOf(world: World, folder: string, rows: readonly [StreamName, Row][]): Promise<string> {
  const streams: Record<string, object> = {}
  await world.partnerPool.query('create schema if not exists wrong')
  for (const [stream, { columns }] of Object.entries(ourStreams)) {
    await world.partnerPool.query(
      `create table wrong.${stream} (${Object.keys(columns)
        .map((column) => `${column} text`)
        .join(', ')}, updated_at timestamptz default now())`,
    )
    streams[stream] = { query: `select * from wrong.${stream}`, cursor: 'updated_at', requires: [] }
  }
  for (const [stream, row] of rows) {
    const columns = Object.keys(row)
    await world.partnerPool.query(
      `insert into wrong.${stream} (${columns.join(', ')}) values (${columns.map((_, index) => `$${index + 1}`).join(', ')})`,
      Object.values(row),
    )
  }
  const config = { ...(parse(readFileSync(demoConfig, 'utf8')) as object), streams }
  const file = join(folder, 'wrong.yaml')
  await writeFile(file, stringify(config))
  return file
}

type Invalid = { partner_id: string; stream: string; reason: string }

test('in a run each row that cannot be right is invalid with its reason, and nothing of it is sent', {
  timeout: 180_000,
}, async () => {
  await using world = await startWorld({ migrated: true, hotels: 1 })
  await using folder = await workingFolder()
  const single = cases.map(([stream, row], index): [StreamName, Row] => [
    stream,
    { partner_id: `case ${index}`, ...row },
  ])
  const file = await partnerOf(world, folder.path, [
    ...single,
    ...together.map(([stream, row]): [StreamName, Row] => [stream, row]),
  ])
  const settings = ['--config', file, '--set', 'push.maxTextLength=2000']
  const ended = await nightferry(folder.path, ['run', 'nightly-sync', '--json', ...settings], world.environment())
  expect(ended.code, ended.stderr).toBe(3)
  const report = JSON.parse(ended.stdout) as RunReport
  expect(report.submissions.map(({ kind }) => kind)).toEqual(['calculators_search'])

  const told = await nightferry(folder.path, ['invalid', '--json', ...settings], world.environment())
  const invalid = JSON.parse(told.stdout) as Invalid[]
  expect(invalid).toHaveLength(cases.length + together.length)
  const wrong = cases.flatMap(([stream, row, reason], index) => {
    const found = invalid.find(({ partner_id }) => partner_id === `case ${index}`)
    return found !== undefined && found.stream === stream && reason.test(found.reason) ? [] : [[stream, row, found]]
  })
  expect(wrong).toEqual([])
  for (const [stream, , reason] of some(together)) {
    expect(invalid.find((one) => one.partner_id === 'both' && one.stream === stream)?.reason).toMatch(reason)
  }
})

test('in a run rows that merely look wrong are sent, and the report says so', { timeout: 180_000 }, async () => {
  await using world = await startWorld({ migrated: true, hotels: 1 })
  await using folder = await workingFolder()
  const file = await partnerOf(world, folder.path, [
    ['properties', { partner_id: 'H-1', name: 'A', latitude: '0', longitude: '0' }],
    ['properties', { partner_id: 'h-1 ', name: 'A' }],
  ])
  const ended = await nightferry(folder.path, ['run', 'nightly-sync', '--json', '--config', file], world.environment())
  const report = JSON.parse(ended.stdout) as RunReport
  expect(report.streams.find(({ stream }) => stream === 'properties')).toMatchObject({ invalid: 0, sent: 2 })
  expect(report.notices).toEqual([
    expect.stringMatching(/^1 row that has 0 for latitude and longitude \(H-1\): .* row_warnings/),
    expect.stringMatching(/^2 rows that have a partner_id that differs from another by case .* \(H-1, h-1 \)/),
  ])
})
