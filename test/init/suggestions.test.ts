import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createPrompter } from '../../src/cli/prompter.ts'
import { settings } from '../../src/config/schema.ts'
import { cursorIn, likeness } from '../../src/init/column-names.ts'
import { chosenFor } from '../../src/init/shown-by-service.ts'
import { dialectOf, queryOf } from '../../src/init/stream-query.ts'
import { suggestStreams } from '../../src/init/suggest-streams.ts'
import { type Choices, writtenConfig } from '../../src/init/written-config.ts'
import type { PartnerTable } from '../../src/partner/examination.ts'

const table = (name: string, columns: string, schema: string | null = null): PartnerTable => ({
  schema,
  name,
  columns: columns.split(' ').map((word) => {
    const [column = '', type = 'text'] = word.split(':')
    return { name: column, type }
  }),
})

const world = [
  table('invoice', 'id amount value year booking_id updated_at'),
  table('hotel', 'hotel_id code name country lat lon updated_at:timestamptz'),
  table('reading', 'hotel_id meter_id year month value updated_at:timestamptz'),
  table('meter', 'meter_id name field_type_id'),
  table('feature', 'hotel_code custom_property_id value'),
]

test('names are matched by their own word, by what people say, and behind the name of their table', () => {
  expect(likeness('country_code', 'countryCode', 'hotel')).toBe(3)
  expect(likeness('latitude', 'LAT', 'hotel')).toBe(2)
  expect(likeness('name', 'hotel_name', 'hotels')).toBe(1)
  expect(likeness('name', 'surname', 'hotels')).toBe(0)
})

test('a cursor is a time whose name says that it is the last change, and never the time of making', () => {
  expect(cursorIn(table('x', 'created_at:timestamp modified_at:timestamp').columns)).toBe('modified_at')
  expect(cursorIn(table('x', 'created_at:timestamp').columns)).toBeNull()
  expect(cursorIn(table('x', 'updated_at:integer').columns)).toBeNull()
})

describe('a table is suggested', () => {
  const found = suggestStreams(world)
  test('for the hotels by their details, with what people call them', () => {
    expect(found.properties?.table.name).toBe('hotel')
    expect(found.properties && queryOf(found.properties, 'postgres')).toEqual([
      'select t.code as partner_id, t.name, null as street, t.lat as latitude, t.lon as longitude,',
      '       t.country as country_code, null as airport_code, null as hotel_code, null as booking_id,',
      '       t.updated_at',
      'from hotel t',
    ])
  })
  test('with the joins that lead to the hotel and to what another table has', () => {
    expect(found.calculator_inputs && queryOf(found.calculator_inputs, 'postgres')).toEqual([
      'select j1.code as partner_id, t.year, t.month, j2.field_type_id, t.value, t.updated_at',
      'from reading t',
      'join hotel j1 on j1.hotel_id = t.hotel_id',
      'join meter j2 on j2.meter_id = t.meter_id',
    ])
  })
  test('by the id of the hotel itself where it has that, and by no cursor where it has none', () => {
    expect(found.custom_property_values).toMatchObject({ cursor: null, missing: [], table: { name: 'feature' } })
    expect(found.custom_property_values?.columns.partner_id).toMatchObject({ column: 'hotel_code', join: null })
  })
  test('for no stream that nothing looks like', () => {
    expect(found.standard_holders).toBeNull()
    expect(found.omissions).toBeNull()
    expect(suggestStreams([])).toMatchObject({ properties: null, calculator_inputs: null })
  })
})

test('odd names are quoted as the dialect does it', () => {
  const odd = suggestStreams([table('Hotel List', 'code name Country lat', 'My Data')]).properties
  const from = (['postgres', 'mysql', 'sqlserver'] as const).map((dialect) => odd && queryOf(odd, dialect).at(-1))
  expect(from).toEqual([
    'from "My Data"."Hotel List" t',
    'from `My Data`.`Hotel List` t',
    'from [My Data].[Hotel List] t',
  ])
  expect(odd && queryOf(odd, 'postgres').join(' ')).toContain('t."Country" as country_code')
  expect(['mariadb://h', 'MSSQL://h', 'file:///x', 'postgresql://h'].map(dialectOf)).toEqual([
    'mysql',
    'sqlserver',
    'sqlite',
    'postgres',
  ])
})

const id = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`
const choices: Choices = {
  baseUrl: 'https://exchange.example.com',
  openKey: null,
  partnerUrl: null,
  identifier: { id: id(1), name: 'Our id' },
  identifiers: [{ id: id(1), name: 'Our id\nexchange: { apiKey: planted }' }],
  group: null,
  groups: [],
  properties: [{ id: id(1), name: 'Our id' }],
  frameworks: [],
  fieldTypes: null,
  standards: null,
  dialect: 'postgres',
  suggestions: suggestStreams(world),
  schema: 'file:///schema.json',
}

test('what is written can be used, whatever the names hold', () => {
  const config = settings.parse(parse(writtenConfig(choices)))
  expect(Object.keys(config.streams)).toEqual(['properties', 'calculator_inputs', 'custom_property_values'])
  expect(config.streams.custom_property_values).toMatchObject({ capture: 'snapshot', requires: ['properties'] })
  expect(config.exchange).toMatchObject({ apiKey: null, customIdentifierId: id(1), groupId: null })
})

test('a stream in comments can be used once these are taken away', () => {
  const text = writtenConfig({ ...choices, suggestions: suggestStreams([]) })
  expect(settings.parse(parse(text)).streams).toEqual({})
  const opened = text.replace('streams: {}', 'streams:').replaceAll(/^# ( {2}(?! )\w+:| {4,})/gm, '$1')
  expect(Object.keys(settings.parse(parse(opened)).streams)).toHaveLength(7)
})

test('of several nobody is chosen without being asked for, by id or name', async () => {
  const two = [1, 2].map((digit) => ({ id: id(digit), name: `Group ${digit}` }))
  expect(await chosenFor('group', '--group', 'group 2', two, null)).toEqual(two[1])
  expect(await chosenFor('group', '--group', undefined, two.slice(0, 1), null)).toEqual(two[0])
  expect(await chosenFor('group', '--group', undefined, [], null)).toBeNull()
  await expect(chosenFor('group', '--group', undefined, two, null)).rejects.toThrow('choose one with --group')
})

test('a terminal asks, shows no secret that is typed, and asks again for a choice that there is not', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  let shown = ''
  output.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
  })
  const prompter = createPrompter({ input, output, signal: new AbortController().signal })
  const asked = async (times: number) => {
    while (shown.split('(1 to 2)').length <= times) await new Promise((resolve) => output.once('data', resolve))
  }
  const key = prompter.askHidden('API key:')
  input.write('typed-secret\r')
  expect(await key).toBe('typed-secret')
  const chosen = prompter.choose('Which group?', [{ name: 'North' }, { name: 'South' }])
  await asked(1)
  input.write('3\r')
  await asked(2)
  input.write('2\r')
  expect(await chosen).toEqual({ name: 'South' })
  prompter.close()
  expect(shown).not.toContain('typed-secret')
  expect(shown).toContain('  2  South')
})
