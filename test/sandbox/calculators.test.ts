import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as world from '../../src/sandbox/catalogue/calculator-types.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt, hotelAt } from '../../src/sandbox/hotels.ts'
import { some } from '../helpers/some.ts'
import { calculators, inputsOf, mapHotels, mappingOf, mappings, partnerId } from './bodies.ts'
import type { CalculatorFile, PageCalculator, Task } from './documents.ts'
import { type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

let sandbox: OpenSandbox
beforeAll(async () => {
  sandbox = await openSandbox()
  await sandbox.run('companyMappings', mapHotels(...Array.from({ length: 30 }, (_, index) => index + 1)))
})
afterAll(() => sandbox.close())

const { otherCustomIdentifierId } = catalogue
const { electricity, floorArea, naturalGas, mainsWater, roomNights } = world
const carbon = world.carbonFootprint.id
const outputId = (name: string) => catalogue.outputVariables.find((variable) => variable.name === name)?.id ?? name

async function upsert(...companies: unknown[]): Promise<Task> {
  return sandbox.run('calculatorsUpsert', calculators(companies))
}

async function calculatorsOf(number: number): Promise<PageCalculator[]> {
  const pages = await sandbox.pages(await sandbox.run('calculatorsSearch', {}))
  return pages.flatMap((page) => page.companies).find(({ id }) => id === companyIdAt(seed, number))?.calculators ?? []
}

describe('what the request must name', () => {
  it.each([
    ['no group', 400, { groupId: undefined }],
    ['no custom identifier', 400, { customIdentifierId: undefined }],
    ['a blank group', 400, { groupId: '' }],
    ['a blank custom identifier', 400, { customIdentifierId: '' }],
    ['a group that is no text', 400, { groupId: 7 }],
    ['a group that is no UUID', 403, { groupId: 'not-a-uuid' }],
    ['an identifier that is no UUID', 403, { customIdentifierId: 'H-0001' }],
    ['a group of another profile', 403, { groupId: catalogue.otherGroupId }],
    ['a group that does not exist', 403, { groupId: catalogue.brandPropertyId }],
    ['an identifier of another profile', 403, { customIdentifierId: catalogue.otherCustomIdentifierId }],
    ['an identifier that does not exist', 403, { customIdentifierId: catalogue.groupId }],
  ])('answers, to %s, %i with an errorCode and a message', async (_what, status, overrides) => {
    const answer = await sandbox.call('POST', '/api/v1/bulk/calculators/upsert', { body: calculators([], overrides) })
    expect(answer).toEqual({ status, body: { errorCode: expect.any(String), message: expect.any(String) } })
  })
})

it('the sandbox computes outputs from inputs and gives both as strings, the inputs as they were sent', async () => {
  const values = { [electricity.id]: '1000.50', [naturalGas.id]: '200', [roomNights.id]: '30' }
  expect((await upsert(inputsOf(partnerId(1), { year: 2025, month: 'march' }, values))).status).toBe('Success')
  const found = (await calculatorsOf(1)).find(({ typeId }) => typeId === carbon)
  expect(found).toMatchObject({ period: { year: 2025, month: 'March' }, inputs: values })
  expect(found?.outputs).toEqual({
    [outputId('Scope 1 (kg CO2e)')]: '36.586',
    [outputId('Scope 2 (kg CO2e)')]: '207.153525',
    [outputId('Total (kg CO2e)')]: '243.739525',
    [outputId('CO2e per occupied room (kg)')]: '8.124651',
  })
})

it('the sandbox makes a calculator of every type that takes one of the inputs, and no other', async () => {
  await upsert(inputsOf(partnerId(2), { year: 2024 }, { [mainsWater.id]: '5' }))
  expect((await calculatorsOf(2)).map(({ typeId, period }) => [typeId, period])).toEqual([
    [world.waterFootprint.id, { year: 2024 }],
  ])
  await upsert(inputsOf(partnerId(2), { year: 2024 }, { [roomNights.id]: '7' }))
  const types = (await calculatorsOf(2)).map(({ typeId }) => typeId)
  expect(types.toSorted()).toEqual(catalogue.calculatorTypes.map(({ id }) => id).toSorted())
})

it('the sandbox merges the inputs of later requests and keeps the id of the calculator', async () => {
  await upsert(inputsOf(partnerId(3), { year: 2025, month: 'May' }, { [electricity.id]: '1', [naturalGas.id]: '2' }))
  const [before] = await calculatorsOf(3)
  await upsert(inputsOf(partnerId(3), { year: 2025, month: 'May' }, { [electricity.id]: '9' }))
  const after = await calculatorsOf(3)
  expect(after.map(({ id, inputs }) => [id, inputs])).toEqual([
    [before?.id, { [electricity.id]: '9', [naturalGas.id]: '2' }],
  ])
})

it('the sandbox leaves blank values out, and begins no calculator with them', async () => {
  const blanks = { [electricity.id]: '', [naturalGas.id]: '  ', [mainsWater.id]: null }
  expect((await upsert(inputsOf(partnerId(4), { year: 2025 }, blanks))).status).toBe('Success')
  expect(await calculatorsOf(4)).toEqual([])
  await upsert(inputsOf(partnerId(4), { year: 2025 }, { [electricity.id]: '3', [naturalGas.id]: '4' }))
  await upsert(inputsOf(partnerId(4), { year: 2025 }, { [electricity.id]: '' }))
  expect((await calculatorsOf(4))[0]?.inputs).toEqual({ [naturalGas.id]: '4' })
  await upsert(inputsOf(partnerId(4), { year: 2025 }, { [naturalGas.id]: '' }))
  const [empty] = await calculatorsOf(4)
  expect(empty).not.toHaveProperty('inputs')
  expect(empty).not.toHaveProperty('outputs')
})

it('the sandbox tells per company what happened, and stores nothing of a company that failed', async () => {
  const period = { year: 2025, month: 'July' }
  const task = await upsert(
    inputsOf(partnerId(5), period, { [electricity.id]: '5' }),
    inputsOf(partnerId(6), period, {
      [electricity.id]: '5',
      [naturalGas.id]: 'many',
      [mainsWater.id]: '-1',
      [floorArea.id]: 5,
    }),
    inputsOf(partnerId(41), period, { [electricity.id]: '5' }),
    inputsOf(partnerId(7), period, { [catalogue.groupId]: '5' }),
    inputsOf(partnerId(8), { year: 2025, month: 'Jly' }, { [electricity.id]: '5' }),
  )
  expect(task.status).toBe('PartialSuccess')
  expect((await sandbox.file<CalculatorFile>(task)).companies).toEqual([
    { identifier: partnerId(5), companyId: companyIdAt(seed, 5), status: 'Success' },
    {
      identifier: partnerId(6),
      companyId: companyIdAt(seed, 6),
      status: 'Failed',
      errors: [
        { fieldTypeId: naturalGas.id, reason: 'value_not_numeric' },
        { fieldTypeId: mainsWater.id, reason: 'value_negative' },
        { fieldTypeId: floorArea.id, reason: 'value_type_mismatch' },
      ],
    },
    { identifier: partnerId(41), status: 'Failed', errors: [{ reason: 'company_not_found' }] },
    {
      identifier: partnerId(7),
      companyId: companyIdAt(seed, 7),
      status: 'Failed',
      errors: [{ fieldTypeId: catalogue.groupId, reason: 'field_type_not_found' }],
    },
    {
      identifier: partnerId(8),
      companyId: companyIdAt(seed, 8),
      status: 'Failed',
      errors: [{ reason: 'month_invalid' }],
    },
  ])
  expect(await calculatorsOf(6)).toEqual([])
})

it('the sandbox repeats the field type of a failed input as it was sent, and stores by it in any letter case', async () => {
  const [capitals, other] = [electricity.id, naturalGas.id].map((id) => id.toUpperCase())
  const task = await upsert(
    inputsOf(partnerId(25), { year: 2018 }, { Diesel: '1', [capitals ?? '']: 'many' }),
    inputsOf(partnerId(26), { year: 2018 }, { [electricity.id]: '1', [capitals ?? '']: '2', [other ?? '']: '3' }),
  )
  const [failed] = (await sandbox.file<CalculatorFile>(task)).companies
  expect(failed?.errors).toEqual([
    { fieldTypeId: 'Diesel', reason: 'field_type_not_found' },
    { fieldTypeId: capitals, reason: 'value_not_numeric' },
  ])
  expect((await calculatorsOf(26))[0]?.inputs).toEqual({ [electricity.id]: '2', [naturalGas.id]: '3' })
})

it('the sandbox fails, one by one, companies that are in no group of the profile, and those that the group named does not hold', async () => {
  const outside = { ...calculators([]), groupId: catalogue.otherGroupId, customIdentifierId: otherCustomIdentifierId }
  const of = (identifier: string) => inputsOf(identifier, { year: 2020 }, { [electricity.id]: '1' })
  await sandbox.run('companyMappings', mappings([mappingOf(hotelAt(seed, 28))], otherCustomIdentifierId), 'other-key')
  await sandbox.run('companyMappings', mappings([mappingOf(hotelAt(seed, 29))], otherCustomIdentifierId), 'other-key')
  await sandbox.pool.query('delete from sandbox.group_company where group_id = $1 and company_id = $2', [
    catalogue.otherGroupId,
    companyIdAt(seed, 29),
  ])
  const task = await sandbox.run(
    'calculatorsUpsert',
    { ...outside, companies: [of(partnerId(28)), of(partnerId(29)), of(partnerId(1))] },
    'other-key',
  )
  expect(task.status).toBe('PartialSuccess')
  const { companies } = await sandbox.file<CalculatorFile>(task)
  expect(companies.map(({ status, errors }) => [status, errors])).toEqual([
    ['Success', undefined],
    ['Failed', [{ reason: 'company_not_accessible' }]],
    ['Failed', [{ reason: 'company_not_found' }]],
  ])
  expect(await calculatorsOf(29)).toEqual([])
})

it('the sandbox takes a monthly and a yearly calculator of the same year for two', async () => {
  const input = (period: { year: number; month?: string }) => inputsOf(partnerId(27), period, { [electricity.id]: '1' })
  await upsert(input({ year: 2019 }), input({ year: 2019, month: 'JANUARY' }))
  const found = await calculatorsOf(27)
  expect(found.map(({ period }) => period)).toEqual([{ year: 2019 }, { year: 2019, month: 'January' }])
  expect(found[0]?.title).toBe('Carbon footprint, 2019')
  expect(found[1]?.title).toBe('Carbon footprint, January 2019')
  expect(found[0]?.id).not.toBe(found[1]?.id)
})

it('the sandbox refuses the whole request when an input names no field type', async () => {
  const nameless = { identifier: partnerId(1), calculators: [{ period: { year: 2025 }, inputs: [{ value: '1' }] }] }
  const answer = await sandbox.call('POST', '/api/v1/bulk/calculators/upsert', { body: calculators([nameless]) })
  expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining('fieldTypeId')])
})

it('the sandbox ends in Error when every company failed', async () => {
  const task = await upsert(inputsOf('nobody', { year: 2025 }, { [electricity.id]: '5' }))
  expect([task.status, typeof task.file?.url]).toEqual(['Error', 'string'])
})

describe('automatic yearly calculation', () => {
  const on = { automaticYearlyCalculation: true }
  const month = (name: string, value: string, settings = {}) =>
    inputsOf(partnerId(9), { year: 2023, month: name }, { [electricity.id]: value }, settings)
  const yearly = async () => (await calculatorsOf(9)).find(({ period }) => period.month === undefined)

  it('sums the months once it is on, keeps what was sent for the year, and takes the sum back when it is off', async () => {
    await upsert(month('January', '1.25'), month('February', '2.5'))
    expect(await yearly()).toBeUndefined()
    await upsert({ identifier: partnerId(9), ...on })
    expect((await yearly())?.inputs).toEqual({ [electricity.id]: '3.75' })
    await upsert(month('March', '0.25'))
    expect((await yearly())?.inputs).toEqual({ [electricity.id]: '4' })
    expect((await yearly())?.outputs?.[outputId('Scope 2 (kg CO2e)')]).toBe('0.8282')
    await upsert(inputsOf(partnerId(9), { year: 2023 }, { [electricity.id]: '100', [naturalGas.id]: '1' }))
    expect((await yearly())?.inputs).toEqual({ [electricity.id]: '100', [naturalGas.id]: '1' })
    await upsert(inputsOf(partnerId(9), { year: 2023 }, { [electricity.id]: '', [naturalGas.id]: '' }))
    expect((await yearly())?.inputs).toEqual({ [electricity.id]: '4' })
    await upsert({ identifier: partnerId(9), automaticYearlyCalculation: false })
    expect(await yearly()).toBeUndefined()
  })

  it('ends in the same calculators whether the setting comes before the inputs or after them', async () => {
    const inputs = (number: number) =>
      inputsOf(partnerId(number), { year: 2022, month: 'May' }, { [electricity.id]: '6' })
    await upsert({ identifier: partnerId(11), ...on })
    await upsert(inputs(11))
    await upsert(inputs(12))
    await upsert({ identifier: partnerId(12), ...on })
    const described = async (number: number) =>
      (await calculatorsOf(number)).map(({ period, inputs, outputs }) => ({ period, inputs, outputs }))
    expect(await described(11)).toHaveLength(2)
    expect(await described(11)).toEqual(await described(12))
  })

  it('keeps a setting that a later request does not mention', async () => {
    await upsert({ identifier: partnerId(13), ...on, automaticPublishing: true })
    await upsert(inputsOf(partnerId(13), { year: 2022, month: 'May' }, { [electricity.id]: '6' }))
    const { rows } = await sandbox.pool.query(
      'select automatic_yearly_calculation, automatic_publishing from sandbox.company_setting where company_id = $1',
      [companyIdAt(seed, 13)],
    )
    expect(rows).toEqual([{ automatic_yearly_calculation: true, automatic_publishing: true }])
  })
})

it('the sandbox loses no input when many requests feed the same companies at once', async () => {
  const names = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October']
  const numbers = Array.from({ length: 10 }, (_, index) => index + 15)
  const sent = await Promise.all(
    names.map((month, nth) => {
      const companies = numbers.map((number) =>
        inputsOf(
          partnerId(number),
          { year: 2021, month },
          { [electricity.id]: '1' },
          { automaticYearlyCalculation: true },
        ),
      )
      return sandbox.submit('calculatorsUpsert', calculators(nth % 2 === 0 ? companies : companies.toReversed()))
    }),
  )
  for (const id of some(sent)) expect((await sandbox.finished(id)).status).toBe('Success')
  for (const number of some(numbers)) {
    const yearly = (await calculatorsOf(number)).find(({ period }) => period.month === undefined)
    expect(yearly?.inputs).toEqual({ [electricity.id]: '10' })
  }
})
