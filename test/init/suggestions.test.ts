import { PassThrough } from 'node:stream'
import { describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { askedTables, createPrompter } from '../../src/cli/asked-by-init.ts'
import { settings } from '../../src/config/schema.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { cursorIn, likeness, suggestStreams, toldNamesakes } from '../../src/init/suggest-streams.ts'
import { chosenFor, type Named, saidTables, shownByService } from '../../src/init/told-to-init.ts'
import { type Choices, dialectOf, queryOf, writtenConfig } from '../../src/init/written-config.ts'
import type { PartnerTable } from '../../src/partner/examination.ts'
import { patience } from '../helpers/patience.ts'
import { packagedContract } from '../helpers/world.ts'

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
  test('a table is suggested for the hotels by their details, with what people call them', () => {
    expect(found.properties?.table.name).toBe('hotel')
    expect(found.properties && queryOf(found.properties, 'postgres')).toEqual([
      'select t.code as partner_id, t.name, null as street, t.lat as latitude, t.lon as longitude,',
      '       t.country as country_code, null as airport_code, null as hotel_code, null as booking_id,',
      '       t.updated_at',
      'from hotel t',
    ])
  })
  test('a table is suggested with the joins that lead to the hotel and to what another table has', () => {
    expect(found.calculator_inputs && queryOf(found.calculator_inputs, 'postgres')).toEqual([
      'select j1.code as partner_id, t.year, t.month, j2.field_type_id, t.value',
      'from reading t',
      'join hotel j1 on j1.hotel_id = t.hotel_id',
      'join meter j2 on j2.meter_id = t.meter_id',
    ])
  })
  test('a table is suggested by the id of the hotel itself where it has that, and by no cursor where it has none', () => {
    expect(found.custom_property_values).toMatchObject({ cursor: null, missing: [], table: { name: 'feature' } })
    expect(found.custom_property_values?.columns.partner_id).toMatchObject({ column: 'hotel_code', join: null })
  })
  test('no table is suggested for a stream that nothing looks like', () => {
    expect(found.standard_holders).toBeNull()
    expect(found.omissions).toBeNull()
    expect(suggestStreams([])).toMatchObject({ properties: null, calculator_inputs: null })
  })
})

test('a table with replies is no list of questions that nobody answers', () => {
  const hotels = table('hotel', 'hotel_id code name country lat')
  const asked = 'hotel_id question year'
  expect(suggestStreams([hotels, table('left_out', asked)]).omissions?.table.name).toBe('left_out')
  expect(suggestStreams([hotels, table('survey', `${asked} reply`)]).omissions).toBeNull()
})

test('the id of a hotel is found behind a table in between', () => {
  const found = suggestStreams([
    table('hotel', 'hotel_id code name country lat'),
    table('meter', 'meter_id hotel_id field_type_id'),
    table('reading', 'meter_id year month value'),
  ])
  expect(found.calculator_inputs && queryOf(found.calculator_inputs, 'postgres')).toEqual([
    'select j2.code as partner_id, t.year, t.month, j1.field_type_id, t.value',
    'from reading t',
    'join meter j1 on j1.meter_id = t.meter_id',
    'join hotel j2 on j2.hotel_id = j1.hotel_id',
  ])
})

test('a query over joined tables is read as a snapshot, because no time of one table shows a change in another', () => {
  const written = writtenConfig({ ...choices, suggestions: suggestStreams(world) })
  const { streams } = settings.parse(parse(written))
  expect(streams.properties).toMatchObject({ capture: 'cursor', cursor: 'updated_at' })
  expect(streams.calculator_inputs).toMatchObject({ capture: 'snapshot' })
  const [, inputs = ''] = written.split('  calculator_inputs:\n')
  expect(inputs).toMatch(/^ +# .*\n +# Guessed .*\n +query: [^#]*# The query joins tables, and no time of one shows /)
  expect(written.split('\n').filter((line) => /greatest\(|joins tables/.test(line) && line.length > 120)).toEqual([])
})

test.each([
  ['postgres', 'the greatest(…) of these can be'],
  ['mysql', 'the greatest(…) of these can be'],
  ['sqlite', 'the max(…) of these can be'],
  ['sqlserver', '(select max(at) from (values (t.updated_at), (j1.updated_at)) times (at))'],
] as const)('the cursor over joined tables that %s can compute is told', (dialect, told) => {
  const written = writtenConfig({ ...choices, dialect, suggestions: suggestStreams(world) })
  expect(written).toContain(told)
  if (!told.includes('greatest')) expect(written).not.toContain('greatest')
  expect(written.split('\n').filter((line) => /can be the cursor|max\(/.test(line) && line.length > 120)).toEqual([])
})

describe('tables of one name in several schemas', () => {
  const hotel = 'hotel_id code name country lat updated_at:timestamptz'
  const inSchema = (schema: string) => [
    table('hotel', hotel, schema),
    table('meter', 'meter_id name field_type_id', schema),
    table('Reading', 'hotel_id meter_id year month value', schema),
  ]
  const tables = [...inSchema('public'), ...inSchema('archive')]

  test('tables of one name are taken in the order in which the database shows them, and the others told', () => {
    const { properties, omissions } = suggestStreams(tables)
    expect(properties?.table.schema).toBe('public')
    expect(properties && toldNamesakes(properties, tables)).toEqual([
      'public.hotel was taken; archive.hotel has the same name',
    ])
    const tenants = Array.from({ length: 8 }, (_, at) => table('HOTEL', hotel, `tenant${at}`))
    expect(properties && toldNamesakes(properties, [...tables, ...tenants])).toEqual([
      'public.hotel was taken; archive.hotel, tenant0.HOTEL, tenant1.HOTEL and 6 more have the same name',
    ])
    expect(omissions).toBeNull()
    expect(suggestStreams(tables.toReversed()).properties?.table.schema).toBe('archive')
    expect(properties && toldNamesakes(properties, tables.slice(0, 3))).toEqual([])
  })

  test('tables of one name are taken from the schema of the hotels, those that are joined too', () => {
    const archive = saidTables(['properties=archive.hotel'], [], tables)
    const { calculator_inputs: inputs } = suggestStreams(tables, archive)
    expect(inputs && queryOf(inputs, 'postgres').slice(1)).toEqual([
      'from archive."Reading" t',
      'join archive.hotel j1 on j1.hotel_id = t.hotel_id',
      'join archive.meter j2 on j2.meter_id = t.meter_id',
    ])
    expect(inputs && toldNamesakes(inputs, tables)).toEqual([
      'archive.Reading was taken; public.Reading has the same name',
      'archive.hotel was taken; public.hotel has the same name',
      'archive.meter was taken; public.meter has the same name',
    ])
  })

  test('tables of one name stand in the file, and the query says which of them it reads', () => {
    const suggestions = suggestStreams(tables)
    const [, properties = ''] = writtenConfig({ ...choices, tables, suggestions }).split('\n  properties:\n')
    expect(properties).toContain('    # public.hotel was taken; archive.hotel has the same name. Please check.\n')
    expect(properties).toContain('      from public.hotel t\n')
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

describe('a person on a terminal', () => {
  const odd = [table('other', 'a'), table('stock', 'nr label x', 'pms')]
  const answering = (...answers: string[]) => {
    const asked: string[] = []
    const choose = async <T extends { name: string }>(question: string, choices: readonly T[]) => {
      asked.push(question)
      const chosen = choices.find(({ name }) => name === answers[asked.length - 1])
      if (chosen === undefined) throw new Error(`${question} offers ${choices.map(({ name }) => name).join()}`)
      return chosen
    }
    return { asked, choose }
  }
  test('a person is asked for the table of the hotels and for what a hotel cannot do without, where names do not tell', async () => {
    const person = answering('pms.stock', 'nr', 'label')
    const said = await askedTables({}, odd, person)
    expect(person.asked).toHaveLength(3)
    const { properties } = suggestStreams(odd, said)
    expect(properties && queryOf(properties, 'postgres')[0]).toMatch(/^select t\.nr as partner_id, t\.label as name, /)
  })
  test('a person is asked nothing where names or flags tell, or there is no table', async () => {
    const nobody = answering()
    expect(await askedTables({}, world, nobody)).toEqual({})
    expect(await askedTables({ table: ['properties=stock'] }, odd, nobody)).toMatchObject({ properties: {} })
    expect(await askedTables({}, [], nobody)).toEqual({})
    expect(nobody.asked).toEqual([])
  })
})

describe('where names do not tell a table', () => {
  const odd = [
    table('estate', 'nr label land since'),
    table('consumption', 'estate_nr period mon amount', 'meters'),
    table('estate_log', 'nr note'),
  ]
  test('a person says it, and which column is what, and the other tables find their way to it', () => {
    const columns = ['properties.partner_id=NR', 'properties.name=label', 'calculator_inputs.year=period']
    const said = saidTables(['properties=estate', 'calculator_inputs=meters.consumption'], columns, odd)
    const { properties, calculator_inputs: inputs } = suggestStreams(odd, said)
    expect(properties && queryOf(properties, 'sqlite')[0]).toMatch(/^select t\.nr as partner_id, t\.label as name, /)
    expect(properties?.missing).toEqual([])
    expect(inputs).toMatchObject({ table: { name: 'consumption' }, missing: ['field_type_id'] })
    expect(inputs && queryOf(inputs, 'sqlite')[0]).toMatch(/^select t\.estate_nr as partner_id, t\.period as year, /)
  })
  test.each([
    [['houses=estate'], [], 'there is no stream houses; there are properties, '],
    [['properties=house'], [], 'there is no such table; there are: estate, meters.consumption, estate_log'],
    [['properties'], [], 'it looks like stream=table'],
    [[], ['properties.id=nr'], 'properties has no column id; it has partner_id, '],
    [['properties=estate'], ['properties.partner_id=code'], 'estate has no column code; it has nr, label, land, since'],
    [[], ['properties.partner_id=code'], 'no table has a column code'],
  ])('%j and %j are refused with what there is', (tables, columns, words) => {
    expect(() => saidTables(tables, columns, odd)).toThrow(words)
  })
})

test('keys that are numbers, and the words of several trades, are found', () => {
  const found = suggestStreams([
    table('houses', 'house_no title street_line land touched_at'),
    table('meter', 'meter_no house_no field_type_id'),
    table('meter_reading', 'meter_no yr mon amount'),
  ])
  expect(found.properties).toMatchObject({ missing: [], columns: { partner_id: { column: 'house_no' } } })
  expect(found.calculator_inputs).toMatchObject({
    table: { name: 'meter_reading' },
    missing: [],
  })
  expect(found.calculator_inputs && queryOf(found.calculator_inputs, 'sqlite')).toEqual([
    'select j1.house_no as partner_id, t.yr as year, t.mon as month, j1.field_type_id,',
    '       t.amount as value',
    'from meter_reading t',
    'join meter j1 on j1.meter_no = t.meter_no',
  ])
})

const id = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`
const choices: Choices = {
  readOnly: false,
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
  tables: world,
  suggestions: suggestStreams(world),
  contract: loadContract(packagedContract),
  schema: 'file:///schema.json',
}

test('what is written can be used, whatever the names hold', () => {
  const config = settings.parse(parse(writtenConfig(choices)))
  expect(Object.keys(config.streams)).toEqual(['properties', 'calculator_inputs', 'custom_property_values'])
  expect(config.streams.custom_property_values).toMatchObject({ capture: 'snapshot', requires: ['properties'] })
  expect(config.exchange).toMatchObject({ apiKey: null, customIdentifierId: id(1), groupId: null })
  expect(config.jobs).toMatchObject({ 'nightly-sync': { schedule: null }, housekeeping: { schedule: '0 12 * * 0' } })
})

test('the searches with which a night compares are written for the streams that are, the others stand in comments', () => {
  const two = { ...choices, properties: [...choices.properties, { id: id(2), name: 'Brand' }] }
  const text = writtenConfig(two)
  const { searches } = settings.parse(parse(text)).pull
  const body = { customPropertyIds: [id(1), id(2)] }
  expect(searches).toMatchObject([{ name: 'our_companies', search: 'companiesSearch', body, schedule: null }])
  expect(searches).toHaveLength(1)
  const taken = settings.parse(parse(text.replaceAll(/^ {2}# ( {2,}(?:- name|search|body): )/gm, '  $1'))).pull
  expect(taken.searches.map(({ search }) => search)).toEqual([
    'companiesSearch',
    'standardHoldersSearch',
    'frameworkAnswersSearch',
  ])
  const none = writtenConfig({ ...choices, identifier: null, properties: [], suggestions: suggestStreams([]) })
  expect(settings.parse(parse(none)).pull.searches).toEqual([])
  const all = none.replaceAll(/^ {2}# ( *(?:searches:|- name|search|body))/gm, '  $1')
  expect(settings.parse(parse(all)).pull.searches).toHaveLength(3)
})

test('what is written for somebody who only reads has no identifier, no stream and no job that sends', () => {
  const read = { ...choices, readOnly: true, identifier: null, suggestions: suggestStreams([]), tables: [] }
  const config = settings.parse(parse(writtenConfig(read)))
  expect(config.streams).toEqual({})
  expect(config.exchange).toMatchObject({ baseUrl: 'https://exchange.example.com', customIdentifierId: null })
  expect(config.pull.customPropertyIds).toEqual([id(1)])
  expect(config.pull.searches.map(({ name, schedule }) => [name, schedule])).toEqual([
    ['companies', null],
    ['holders', null],
    ['answers', null],
  ])
  expect(writtenConfig(read)).not.toContain('nightly-sync')
  expect(config.jobs).toMatchObject({
    'pull-calculators': { schedule: null },
    housekeeping: { schedule: '0 12 * * 0' },
  })
})

test('the tables of the database stand in the file with their columns, as comments whatever their names hold', () => {
  const tables = [...world, table('odd\nexchange:', 'a\nb:integer')]
  const text = writtenConfig({ ...choices, tables })
  expect(text).toContain('\n# - hotel (hotel_id text, code text, name text, country text, lat text, lon text, ')
  expect(text).toContain('\n# - odd exchange: (a b integer)\n')
  expect(settings.parse(parse(text)).exchange.customIdentifierId).toBe(id(1))
  const many = Array.from({ length: 130 }, (_, at) => table(`t${at}`, 'x'))
  expect(writtenConfig({ ...choices, tables: many })).toContain('\n# - and 30 more\n')
})

test.each([
  ['the identifiers', { identifiers: 1 }],
  ['the chosen identifier', { identifier: 1 }],
  ['the groups', { groups: 1 }],
  ['the chosen group', { group: 1 }],
  ['the properties', { properties: 1 }],
  ['the frameworks', { frameworks: 1 }],
  ['the field types', { fieldTypes: 1 }],
  ['the standards', { standards: 1 }],
])('the file sets nothing that an id of %s says', (_whose, where) => {
  const honest = parse(writtenConfig(choices)) as { exchange: object; pull: object }
  for (const text of ['f1\nlog: {level: trace}\n#', 'f1\n  apiKey: planted\n#', 'f1], keep: [', 'f1 # x', '{log: 1}']) {
    const hostile = { id: text, name: 'x' }
    const given = Object.keys(where).map((name) => [
      name,
      name === 'identifier' || name === 'group' ? hostile : [hostile],
    ])
    const written = parse(writtenConfig({ ...choices, ...Object.fromEntries(given) })) as typeof honest
    for (const [all, one] of [
      [honest, written],
      [honest.exchange, written.exchange],
      [honest.pull, written.pull],
    ] as const) {
      expect(Object.keys(one)).toEqual(Object.keys(all))
    }
    if ('group' in where) expect(written.exchange).toMatchObject({ groupId: text })
    if ('properties' in where) expect(written.pull).toMatchObject({ customPropertyIds: [text] })
  }
})

test.each(['postgres', 'mysql', 'sqlserver', 'sqlite'] as const)(
  'names of tables and columns with line breaks set nothing in the file, and stay as they are in its queries on %s',
  (dialect) => {
    for (const end of ['\n', '\r', '\r\n']) {
      const planted = `${end}log: {level: trace}`
      const columns = ['code', 'name', 'land', `lat${planted}`].map((name) => ({ name, type: 'text' }))
      const hotels = { schema: null, name: `hotel${planted}`, columns }
      const suggestions = suggestStreams([hotels], {
        properties: { table: hotels, columns: { latitude: `lat${planted}` } },
      })
      const written = parse(writtenConfig({ ...choices, dialect, tables: [hotels], suggestions }))
      expect(written).not.toHaveProperty('log')
      expect(written.streams.properties.query).toContain(`lat${planted}`)
      expect(written.streams.properties.query).toContain(`hotel${planted}`)
    }
  },
)

test('init offers nothing whose id no setting could name', async () => {
  const property = { type: null, isIdentifier: true, isOwnedByInvokingCompany: null, ownerName: null }
  const [right, wrong] = [id(1), 'f1\nlog: {level: trace}\n#']
  const named = [right, wrong].map((id) => ({ id, name: 'x' }))
  const shown = await shownByService({
    getUnitTypes: async () => [],
    getGroups: async () => named,
    getCustomProperties: async () => named.map((one) => ({ ...one, ...property })),
    getFrameworks: async () => [],
  })
  const only = [{ id: right, name: 'x' }]
  expect(shown).toEqual({ identifiers: only, groups: only, properties: only, frameworks: [] })
})

test('the written file tells of lookups, and names the columns of an incomplete stream that one could serve', () => {
  const tables = [
    table('hotel', 'code name country lat lon updated_at'),
    table('reading', 'hotel_code year month value'),
  ]
  const text = writtenConfig({ ...choices, suggestions: suggestStreams(tables) })
  expect(text).toContain('# lookups: { meters: { file: meters.csv, code: meter_code, id: field_type_id } }')
  expect(text).toContain(
    '# If you have codes of your own for field_type_id, select these, and name a lookup: see lookups above.',
  )
  const [, opened = ''] = /^# (lookups: .*)$/m.exec(text) ?? []
  expect(Object.keys(settings.parse(parse(opened)).lookups)).toEqual(['meters'])
})

test('a stream in comments can be used once these are taken away', () => {
  const text = writtenConfig({ ...choices, suggestions: suggestStreams([]) })
  expect(settings.parse(parse(text)).streams).toEqual({})
  const opened = text.replace('streams: {}', 'streams:').replaceAll(/^# ( {2}(?! )\w+:| {4,})/gm, '$1')
  expect(Object.keys(settings.parse(parse(opened)).streams)).toHaveLength(7)
})

test('init chooses none of several without being asked for it by id or name', async () => {
  const two = [1, 2].map((digit) => ({ id: id(digit), name: `Group ${digit}` }))
  expect(await chosenFor('group', '--group', 'group 2', two, null)).toEqual(two[1])
  expect(await chosenFor('group', '--group', undefined, two.slice(0, 1), null)).toEqual(two[0])
  expect(await chosenFor('group', '--group', undefined, [], null)).toBeNull()
  await expect(chosenFor('group', '--group', undefined, two, null)).rejects.toThrow('choose one with --group')
})

test('a name that several groups have chooses none of them by itself: a person tells them by their ids', async () => {
  const hotels = ['g1', 'g2'].map((id) => ({ id, name: 'Hotels' }))
  const all = [...hotels, { id: 'g3', name: 'Hostels' }, { id: 'g4', name: 'g1' }]
  await expect(chosenFor('group', '--group', 'hotels', all, null)).rejects.toThrow(
    'several of these: choose one with --group and its id: g1 (Hotels), g2 (Hotels)',
  )
  expect(await chosenFor('group', '--group', 'G1', all, null)).toEqual(hotels[0])
  const asked: string[][] = []
  const second = async (choices: readonly Named[]) => {
    asked.push(choices.map(({ name }) => name))
    return choices[1] as Named
  }
  expect(await chosenFor('group', '--group', 'hotels', all, second)).toEqual(hotels[1])
  expect(await chosenFor('group', '--group', undefined, all, second)).toEqual(hotels[1])
  expect(asked).toEqual([
    ['Hotels (g1)', 'Hotels (g2)'],
    ['Hotels (g1)', 'Hotels (g2)', 'Hostels', 'g1'],
  ])
})

test('a terminal asks, shows no secret that is typed, and asks again for a choice that there is not', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  let shown = ''
  output.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
  })
  const prompter = createPrompter({ input, output, signal: new AbortController().signal, interrupt: () => {} })
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

test('a terminal is driven by no name that it offers, nor by one in its question', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const written: string[] = []
  const passOn = output.write.bind(output)
  // What the prompter itself writes: the line editor beside it drives the terminal, as it should.
  output.write = (chunk: unknown) => {
    written.push(String(chunk))
    return passOn(chunk)
  }
  const prompter = createPrompter({ input, output, signal: new AbortController().signal, interrupt: () => {} })
  const hostile = 'Nordic\u001b[1A\r\u001b[2K  1  Nordic hotels\u202e'
  const chosen = prompter.choose(`Which column of ${hostile}?`, [{ name: 'Nordic hotels' }, { name: hostile }])
  await vi.waitFor(() => expect(written.join('')).toContain('(1 to 2)'), patience)
  input.write('2\r')
  expect(await chosen).toEqual({ name: hostile })
  prompter.close()
  const shown = String.raw`Nordic\u001b[1A\u000d\u001b[2K  1  Nordic hotels\u202e`
  expect(written.join('')).toContain(`  2  ${shown}\n`)
  expect(written.join('')).toContain(`Which column of ${shown}? (1 to 2)`)
  expect(written.join('')).not.toContain('\u001b[1A')
  expect(written.join('')).not.toContain('\u202e')
})

test('a terminal passes Ctrl-C on as a signal, between questions as in one', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  output.resume()
  const interrupted = new AbortController()
  let times = 0
  const interrupt = () => {
    times += 1
    interrupted.abort()
  }
  const prompter = createPrompter({ input, output, signal: interrupted.signal, interrupt })
  input.write('\x03')
  await vi.waitFor(() => expect(times).toBe(1), patience)
  await expect(prompter.ask('Address of the service:')).rejects.toMatchObject({ code: 'ABORT_ERR' })
  prompter.close()

  const again = new AbortController()
  const inQuestion = createPrompter({ input, output, signal: again.signal, interrupt: () => again.abort() })
  const question = inQuestion.askHidden('API key:')
  input.write('\x03')
  await expect(question).rejects.toMatchObject({ code: 'ABORT_ERR' })
  expect(again.signal.aborted).toBe(true)
  inQuestion.close()
})
