import { expect, it } from 'vitest'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt, hotelAt } from '../../src/sandbox/hotels.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { some } from '../helpers/some.ts'
import { mapHotels, mappingOf, mappings } from './bodies.ts'
import type { MappingFile, Task } from './documents.ts'
import { openSandbox, seed } from './open-sandbox.ts'

const sandbox = await ofThisFile(openSandbox())

async function resultOf(companies: unknown[]): Promise<{ task: Task; companies: MappingFile['companies'] }> {
  const task = await sandbox.run('companyMappings', mappings(companies))
  return { task, companies: (await sandbox.file<MappingFile>(task)).companies }
}

it('the sandbox maps what it knows and says of the rest that it was not found', async () => {
  const task = await sandbox.run('companyMappings', mapHotels(1, 2, 3, 50))
  expect(task.status).toBe('PartialSuccess')
  const { companies } = await sandbox.file<MappingFile>(task)
  expect(companies).toEqual([
    { id: 'H-0001', status: 'Mapped', companyId: companyIdAt(seed, 1) },
    { id: 'H-0002', status: 'Mapped', companyId: companyIdAt(seed, 2) },
    { id: 'H-0003', status: 'Mapped', companyId: companyIdAt(seed, 3) },
    { id: 'H-0050', status: 'NotFound', reason: expect.stringContaining('name and country') },
  ])
})

it('the sandbox ends in Success when all are mapped, in Error when none is, with a file in both cases', async () => {
  const all = await sandbox.run('companyMappings', mapHotels(4, 5))
  expect([all.status, typeof all.file?.url]).toEqual(['Success', 'string'])
  const none = await sandbox.run('companyMappings', mapHotels(50))
  expect([none.status, typeof none.file?.url]).toEqual(['Error', 'string'])
  const empty = await resultOf([])
  expect([empty.task.status, empty.companies]).toEqual(['Success', []])
})

it('the sandbox matches a renamed hotel by its hotel code, and one without by its booking id', async () => {
  const byCode = { ...mappingOf(hotelAt(seed, 1)), name: 'Renamed', countryCode: 'XX', bookingId: undefined }
  const byBooking = { id: 'moved', bookingId: hotelAt(seed, 3).bookingId, name: 'Renamed' }
  const { companies } = await resultOf([byCode, byBooking])
  expect(companies.map((company) => company.companyId)).toEqual([companyIdAt(seed, 1), companyIdAt(seed, 3)])
})

it('the sandbox matches by coordinates only within 100 m and only with the name', async () => {
  const { name, latitude, longitude } = hotelAt(seed, 6)
  const metre = 1 / 111_195
  const at = (metres: number) => ({ latitude: latitude + metres * metre, longitude })
  const { companies } = await resultOf([
    { id: 'near', name: name.toUpperCase(), coordinates: at(99) },
    { id: 'far', name, coordinates: at(101) },
    { id: 'unnamed', coordinates: at(0) },
  ])
  expect(companies.map((company) => company.status)).toEqual(['Mapped', 'NotFound', 'NotFound'])
})

it('the sandbox matches by name and country when nothing else is given, and not in another country', async () => {
  const { name, countryCode } = hotelAt(seed, 8)
  const { companies } = await resultOf([
    { id: 'here', name, countryCode },
    { id: 'elsewhere', name, countryCode: countryCode === 'DK' ? 'DE' : 'DK' },
  ])
  expect(companies.map((company) => company.companyId)).toEqual([companyIdAt(seed, 8), undefined])
})

it('the sandbox does not choose between two companies that match equally well', async () => {
  const { name, countryCode } = hotelAt(seed, 11)
  await sandbox.pool.query(
    `insert into sandbox.company select gen_random_uuid(), 100011, name, name_key, street, latitude, longitude,
       country_code, null, null from sandbox.company where number = 11`,
  )
  const { companies } = await resultOf([{ id: 'twin', name, countryCode }])
  expect(companies).toEqual([{ id: 'twin', status: 'NotFound', reason: expect.stringContaining('Ambiguous') }])
})

it('the sandbox keeps names of every script, quotes, tabs and emoji as the hotels have them', async () => {
  const { rows } = await sandbox.pool.query(
    'select number, name, street from sandbox.company where number <= 60 order by number',
  )
  for (const { number, name, street } of some(rows)) {
    const hotel = hotelAt(seed, number)
    expect([name, street]).toEqual([hotel.name, hotel.street])
  }
  expect(rows.length).toBe(59)
})

it('the sandbox does not map an id that is blank or holds what cannot be stored', async () => {
  const details = mappingOf(hotelAt(seed, 12))
  const { task, companies } = await resultOf([
    { ...details, id: ' ' },
    { ...details, id: 'a\u0000b' },
    { ...details, id: 'a\ud800b' },
    { ...details, id: 'x'.repeat(401) },
    { id: 'ok', name: 'a\u0000b', countryCode: 'DK' },
  ])
  expect(task.status).toBe('Error')
  expect(companies.map((company) => company.status)).toEqual(Array(5).fill('NotFound'))
})

it('the sandbox lets the last mapping of an id win within one request, and says so of the earlier ones', async () => {
  const superseded = [companyIdAt(seed, 13), companyIdAt(seed, 30)]
  await sandbox.pool.query('delete from sandbox.group_company where company_id = any($1)', [superseded])
  const unknown = Array.from({ length: 510 }, () => 50)
  const details = mapHotels(30, ...unknown, 31).companies as Record<string, unknown>[]
  const { companies } = await resultOf([
    { ...mappingOf(hotelAt(seed, 13)), id: 'same' },
    { ...mappingOf(hotelAt(seed, 14)), id: 'same' },
    ...details.map((company) => ({ ...company, id: 'far apart' })),
    { ...mappingOf(hotelAt(seed, 14)), id: 'same' },
    { ...mappingOf(hotelAt(seed, 50)), id: 'same' },
  ])
  expect(companies.filter(({ id }) => id === 'same')).toEqual([
    { id: 'same', status: 'NotFound', reason: expect.stringContaining(companyIdAt(seed, 14)) },
    { id: 'same', status: 'Mapped', companyId: companyIdAt(seed, 14) },
    { id: 'same', status: 'Mapped', companyId: companyIdAt(seed, 14) },
    { id: 'same', status: 'NotFound', reason: expect.stringContaining('No company matches') },
  ])
  const mapped = companies.filter(({ id, status }) => id === 'far apart' && status === 'Mapped')
  expect(mapped.map(({ companyId }) => companyId)).toEqual([companyIdAt(seed, 31)])
  const reached = await sandbox.pool.query('select 1 from sandbox.group_company where company_id = any($1)', [
    superseded,
  ])
  expect(reached.rowCount).toBe(0)
  const { rows } = await sandbox.pool.query("select company_id from sandbox.identifier where value = 'same'")
  expect(rows).toEqual([{ company_id: companyIdAt(seed, 14) }])
})

it('answers 400 without an identifier, or one that is none, and 403 for one of another profile or of nobody', async () => {
  const post = async (customIdentifierId: unknown) => {
    const answer = await sandbox.call('POST', '/api/v1/bulk/company-mappings', {
      body: { customIdentifierId, companies: [] },
    })
    return [answer.status, answer.body.errorCode]
  }
  expect(await post(undefined)).toEqual([400, 'field_missing'])
  expect(await post('H-0001')).toEqual([403, 'custom_identifier_not_accessible'])
  expect(await post(catalogue.brandPropertyId)).toEqual([400, 'custom_identifier_invalid'])
  expect(await post(catalogue.otherCustomIdentifierId)).toEqual([403, 'custom_identifier_not_accessible'])
})

it('the sandbox logs the ids that a request carries, when it arrives and when it ends', async () => {
  const id = await sandbox.submit('companyMappings', mapHotels(21, 22))
  await sandbox.finished(id)
  const { rows } = await sandbox.pool.query(
    `select phase, profile_id, method, path, identifiers from sandbox.request_log
     where correlation_id = $1 and identifiers is not null order by id`,
    [id],
  )
  const line = { profile_id: 4711, method: 'POST', path: '/api/v1/bulk/company-mappings' }
  const identifiers = ['H-0021', 'H-0022']
  expect(rows).toEqual([
    { ...line, phase: 'received', identifiers },
    { ...line, phase: 'picked_up', identifiers },
    { ...line, phase: 'terminal', identifiers },
  ])
})
