import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorldFile, type WorldSource } from '../../src/world/world-file.ts'
import { workingFolder } from '../cli/nightferry-process.ts'
import { contract, type OpenSandbox, openSandbox } from './open-sandbox.ts'

const uuid = (digit: string) => `${digit.repeat(8)}-0000-4000-8000-000000000000`
const [group, identifier, type, meter, total, unknown, company] = ['1', '2', '3', '4', '5', '6', '7'].map(uuid)
const key = 'our-key'
const head = {
  world: 1,
  profiles: [{ id: 7, name: 'Us' }],
  apiKeys: [{ key, profileId: 7 }],
  groups: [{ id: group, name: 'All', profileId: 7 }],
  customProperties: [{ id: identifier, name: 'Our id', type: 'String', isIdentifier: true, profileId: 7 }],
  calculatorTypes: [{ id: type, title: 'Footprint' }],
  fieldTypes: [{ id: meter, name: 'Meter', calculatorTypeIds: [type] }],
  outputVariables: [
    { id: total, name: 'Total', calculatorTypeId: type, terms: [{ fieldTypeId: meter, factor: '2.5' }] },
    { id: unknown, name: 'Score', calculatorTypeId: type },
  ],
}
const hotel = {
  id: company,
  name: 'Our House',
  hotelCode: 'OUR1',
  groups: [group],
  properties: { [identifier ?? '']: ['H-1'] },
  calculators: [
    {
      id: uuid('8'),
      typeId: type,
      year: 2025,
      month: 3,
      inputs: { [meter ?? '']: '2' },
      outputs: { [unknown ?? '']: '17' },
    },
  ],
}

let folder: Awaited<ReturnType<typeof workingFolder>>
let source: WorldSource
let sandbox: OpenSandbox
beforeAll(async () => {
  folder = await workingFolder()
  source = await worldOf('our.world', [head, hotel])
  sandbox = await openSandbox({ world: source, companies: 0 })
})
afterAll(async () => {
  await sandbox.close()
  await folder[Symbol.asyncDispose]()
})

async function worldOf(name: string, lines: object[]): Promise<WorldSource> {
  const file = join(folder.path, name)
  await writeFile(file, lines.map((line) => JSON.stringify(line)).join('\n'))
  return await openWorldFile(file)
}

const input = (fieldTypeId: string | undefined, value: string) => ({
  groupId: group,
  customIdentifierId: identifier,
  companies: [
    { identifier: 'H-1', calculators: [{ period: { year: 2025, month: 'March' }, inputs: [{ fieldTypeId, value }] }] },
  ],
})

describe('the world of a file', () => {
  it('the world of a file is what its key sees, and the made-up one is nowhere', async () => {
    expect((await sandbox.call('GET', contract.endpoints.groups.path, { key })).body).toEqual([
      { id: group, name: 'All' },
    ])
    expect((await sandbox.call('GET', contract.endpoints.frameworks.path, { key })).body).toEqual([])
    expect((await sandbox.call('GET', contract.endpoints.groups.path, { key: 'demo-key' })).status).toBe(401)
  })

  it('has calculators that follow the formulas of the file, and keeps outputs that have none', async () => {
    expect((await sandbox.run('calculatorsUpsert', input(meter, '10'), key)).status).toBe('Success')
    const task = await sandbox.run('calculatorsSearch', { customPropertyIds: [], calculatorTypeIds: [] }, key)
    const [page] = await sandbox.pages(task)
    expect(page).toMatchObject({
      companies: [
        { id: company, calculators: [{ id: uuid('8'), outputs: { [total ?? '']: '25', [unknown ?? '']: '17' } }] },
      ],
    })
  })

  it('keeps outputs that no variable of the file declares, also of other months', async () => {
    const undeclared = uuid('a')
    const [march] = hotel.calculators
    const april = { ...march, id: uuid('b'), month: 4 }
    const both = [
      { ...march, outputs: { [undeclared]: '4' } },
      { ...april, outputs: { [undeclared]: '5' } },
    ]
    const open = await openSandbox({
      world: await worldOf('undeclared.world', [head, { ...hotel, calculators: both }]),
      companies: 0,
    })
    try {
      expect((await open.run('calculatorsUpsert', input(meter, '10'), key)).status).toBe('Success')
      const task = await open.run('calculatorsSearch', { customPropertyIds: [], calculatorTypeIds: [] }, key)
      const [page] = await open.pages(task)
      const outputs = page?.companies[0]?.calculators.map((one) => one.outputs?.[undeclared])
      expect(outputs?.toSorted()).toEqual(['4', '5'])
    } finally {
      await open.close()
    }
  })

  it('refuses a field type that is not listed, unless the list may lack some', async () => {
    expect((await sandbox.run('calculatorsUpsert', input(uuid('9'), '1'), key)).status).toBe('Error')
    const open = await openSandbox({
      world: await worldOf('open.world', [{ ...head, incomplete: ['fieldTypes'] }, hotel]),
      companies: 0,
    })
    try {
      expect((await open.run('calculatorsUpsert', input(uuid('9'), '1'), key)).status).toBe('Success')
    } finally {
      await open.close()
    }
  })

  it('an identifier of type Number names companies in every import but that of answers', async () => {
    const [property] = head.customProperties
    const numbered = await openSandbox({
      world: await worldOf('numbered.world', [
        { ...head, customProperties: [{ ...property, type: 'Number' }] },
        { ...hotel, properties: {} },
      ]),
      companies: 0,
    })
    const companies = { customIdentifierId: identifier }
    const mapping = { ...companies, companies: [{ id: 'H-1', hotelCode: hotel.hotelCode }] }
    const value = { identifier: 'H-1', customProperties: [{ propertyId: identifier, value: 'H-1' }] }
    const holder = { identifier: 'H-1', standardId: uuid('d') }
    const answered = {
      identifiedBy: { customProperty: { customPropertyId: identifier, value: 'H-1' } },
      periods: [{ periodType: 'Yearly', year: 2025, omissions: [{ questionId: uuid('e') }] }],
    }
    const reasons = (task: { error?: { rowErrors: { reason: string }[] } }) =>
      task.error?.rowErrors.map(({ reason }) => reason) ?? []
    try {
      expect((await numbered.run('companyMappings', mapping, key)).status).toBe('Success')
      expect((await numbered.run('calculatorsUpsert', input(meter, '10'), key)).status).toBe('Success')
      const values = await numbered.run('companiesUpsert', { ...companies, companies: [value] }, key)
      expect(reasons(values)).toEqual(['custom_property_is_identifier'])
      const holders = await numbered.run('standardHoldersUpsert', { ...companies, holders: [holder] }, key)
      expect(reasons(holders)).toEqual(['standard_not_found'])
      const answers = await numbered.run('frameworkAnswersUpsert', { companies: [answered] }, key)
      expect(reasons(answers)).toEqual(['custom_property_not_usable'])
    } finally {
      await numbered.close()
    }
  })

  it('has calculators of any texts, on a page that names exactly their variables', async () => {
    const inputs = { [meter ?? '']: '5" pipe', [uuid('b')]: '\\"' }
    const [calculator] = hotel.calculators
    const world = await worldOf('texts.world', [head, { ...hotel, calculators: [{ ...calculator, inputs }] }])
    const texts = await openSandbox({ world, companies: 0 })
    try {
      const [page] = await texts.pages(await texts.run('calculatorsSearch', {}, key))
      expect(page?.calculatorVariables?.map(({ id }) => id)).toEqual([meter, unknown, uuid('b')])
      expect(page?.companies[0]?.calculators[0]?.inputs).toEqual(inputs)
    } finally {
      await texts.close()
    }
  })

  it.each([
    ['declares no variables', {}],
    ['declares one of them', { fieldTypes: head.fieldTypes }],
  ])('lists every variable of every calculator on a page, where the file %s', async (_what, declared) => {
    const { fieldTypes: _fields, outputVariables: _outputs, ...bare } = head
    const [calculator] = hotel.calculators
    const calculators = [meter, uuid('b'), uuid('c')].map((id, nth) => ({
      ...calculator,
      ...{ id: uuid(String(nth)), month: nth + 1, inputs: { [id ?? '']: '1' }, outputs: {} },
    }))
    const world = await worldOf('undeclared.world', [
      { ...bare, ...declared },
      { ...hotel, calculators },
    ])
    const open = await openSandbox({ world, companies: 0 })
    try {
      const [page] = await open.pages(await open.run('calculatorsSearch', {}, key))
      expect(page?.calculatorVariables?.map(({ id }) => id)).toEqual([meter, uuid('b'), uuid('c')])
    } finally {
      await open.close()
    }
  })

  it('the texts of a world are loaded and shown although Postgres cannot keep some of them as they are', async () => {
    const [point, standard] = ['b', 'd'].map(uuid)
    const framework = { id: point, title: 'F', topics: [] }
    const strange = {
      ...hotel,
      ...{ countryCode: 'D\0', hotelCode: 'h\0', bookingId: 'b\ud800' },
      calculators: [
        {
          ...hotel.calculators[0],
          inputs: { [meter ?? '']: '1\0', [total ?? '']: '1' },
          outputs: { [unknown ?? '']: '\ud800' },
        },
      ],
      periods: [{ periodType: 'Yearly', year: 2025, answers: [{ dataPointId: point, value: { 't\0': 'a\0' } }] }],
      standards: [{ standardId: standard, level: 'l\0' }],
    }
    const wide = { ...head, frameworks: [framework], standards: [{ id: standard, title: 'S' }] }
    const open = await openSandbox({ world: await worldOf('strange.world', [wide, strange]), companies: 0 })
    try {
      const [calculators] = await open.pages(await open.run('calculatorsSearch', {}, key))
      expect(calculators?.companies[0]?.calculators[0]?.inputs).toEqual({
        [meter ?? '']: '1\\u0000',
        [total ?? '']: '1',
      })
      const { rows } = await open.pool.query(
        `select country_code, hotel_code, booking_id, level, value, outputs
         from sandbox.company, sandbox.standard_holder, sandbox.answer, sandbox.calculator`,
      )
      expect(rows).toEqual([
        {
          ...{ country_code: 'D\uFFFD', hotel_code: 'h\uFFFD', booking_id: 'b\uFFFD', level: 'l\uFFFD' },
          value: { 't\\u0000': 'a\\u0000' },
          outputs: { [unknown ?? '']: '\uFFFD' },
        },
      ])
    } finally {
      await open.close()
    }
  })

  it('fails the one answer of a form that nobody knows, and the one level, that cannot be stored', async () => {
    const [point, question, standard] = ['b', 'c', 'd'].map(uuid)
    const any = { id: point, title: 'Any', valueType: 'any', reportingPeriodType: 'Any' }
    const cluster = { id: point, title: 'C', questions: [{ id: question, title: 'Q', dataPoints: [any] }] }
    const topic = { id: point, title: 'T', subtopics: [{ id: point, title: 'S', clusters: [cluster] }] }
    const wide = { ...head, frameworks: [{ id: point, title: 'F', topics: [topic] }], incomplete: ['standards'] }
    const open = await openSandbox({ world: await worldOf('any.world', [wide, hotel]), companies: 0 })
    try {
      const answers = [
        { text: 'a\0' },
        { list: [{ '\ud800': 1 }] },
        { deep: 'deep' },
        { text: '\\u0000', list: [[1, null]] },
      ]
      const upsert = {
        companies: [
          {
            identifiedBy: { companyId: company },
            periods: answers.map((answer, nth) => ({
              ...{ periodType: 'Yearly', year: 2020 + nth },
              answers: [{ dataPointId: point, answer }],
            })),
          },
        ],
      }
      const raw = JSON.stringify(upsert).replace('"deep":"deep"', `"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}`)
      const { method, path } = contract.endpoints.frameworkAnswersUpsert
      const { body } = await open.call<{ correlationId: string }>(method, path, { key, raw })
      const task = await open.finished(body.correlationId, key)
      expect([task.status, task.error?.rowErrors.map(({ year, reason }) => [year, reason])]).toEqual([
        'PartialSuccess',
        [
          [2020, 'text_not_storable'],
          [2021, 'text_not_storable'],
          [2022, 'value_type_mismatch'],
        ],
      ])
      const holder = { identifier: 'H-1', standardId: standard }
      const holders = [
        { ...holder, level: 'a\0' },
        { ...holder, level: 'Gold' },
      ]
      const held = await open.run('standardHoldersUpsert', { customIdentifierId: identifier, holders }, key)
      expect([held.status, held.error?.rowErrors.map(({ reason }) => reason)]).toEqual([
        'PartialSuccess',
        ['text_not_storable'],
      ])
    } finally {
      await open.close()
    }
  })

  it('stays as it was left when the same file is served again, and no other is served from its database', async () => {
    await sandbox.stop()
    const other = await worldOf('other.world', [head, { ...hotel, name: 'Another house' }])
    await expect(sandbox.start({ world: other })).rejects.toMatchObject({ code: 'sandbox_world_mismatch' })
    await sandbox.start()
    const { rows } = await sandbox.pool.query('select outputs from sandbox.calculator')
    expect(rows).toEqual([{ outputs: { [total ?? '']: '25', [unknown ?? '']: '17' } }])
  })

  it('the world of a file is not begun from a file that says something twice', async () => {
    const twice = await worldOf('twice.world', [head, hotel, { ...hotel, id: uuid('a') }])
    await expect(openSandbox({ world: twice, companies: 0 })).rejects.toMatchObject({
      code: 'world_file_invalid',
      message: expect.stringContaining('H-1'),
    })
  })
})
