import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPartnerDatabase, partnerDatabaseExists } from '../../src/demo/partner/create-partner-database.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { hotelAt } from '../../src/sandbox/hotels.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { testPool } from '../helpers/test-pool.ts'
import { demoStreams, readEverything, readStream } from './read-streams.ts'

const options = { hotels: 120, seed: 7, asOf: new Date('2026-11-20T02:00:00Z') }

const interfaceColumns: Record<string, string[]> = {
  properties: [
    ...['partner_id', 'name', 'street', 'latitude', 'longitude', 'country_code', 'airport_code'],
    ...['hotel_code', 'booking_id'],
  ],
  framework_answers: [
    ...['partner_id', 'framework_id', 'period_type', 'year', 'month', 'data_point_id', 'value', 'value_type'],
    'unit_id',
  ],
  omissions: ['partner_id', 'period_type', 'year', 'month', 'question_id'],
  calculator_inputs: ['partner_id', 'year', 'month', 'field_type_id', 'value'],
  calculator_settings: ['partner_id', 'automatic_yearly_calculation', 'automatic_publishing'],
  custom_property_values: ['partner_id', 'property_id', 'value'],
  standard_holders: ['partner_id', 'standard_id', 'level', 'start_date', 'expiry_date'],
}

let pool: pg.Pool
let closeDatabase: () => PromiseLike<void>

beforeAll(async () => {
  const database = await testDatabase({ template: 'empty' })
  closeDatabase = () => database[Symbol.asyncDispose]()
  pool = testPool(database.url, 2)
  await createPartnerDatabase(pool, options)
})

afterAll(async () => {
  await pool.end()
  await closeDatabase()
})

describe('the streams of the demo', () => {
  it('the streams of the demo are those of the interface', () => {
    expect(Object.keys(demoStreams).sort()).toEqual(Object.keys(interfaceColumns).sort())
  })

  it.each(Object.keys(interfaceColumns))('yield exactly the columns of %s and the cursor', async (name) => {
    const stream = demoStreams[name]
    const { fields, rows } = await pool.query(`${stream?.query} limit 1`)
    expect(fields.map((field) => field.name)).toEqual([...(interfaceColumns[name] ?? []), stream?.cursor])
    expect(rows).toHaveLength(1)
  })

  it.each(Object.keys(interfaceColumns))('never leave the cursor or the partner id of %s empty', async (name) => {
    const rows = await readStream(pool, name)
    const cursor = demoStreams[name]?.cursor ?? ''
    expect(rows.filter((row) => row.partner_id === null || row[cursor] === null)).toEqual([])
    expect(rows.every((row) => new Date(String(row[cursor])) < options.asOf)).toBe(true)
  })

  it('let every stream but the properties require the properties', () => {
    for (const [name, { requires }] of Object.entries(demoStreams)) {
      expect(requires, name).toEqual(name === 'properties' ? [] : ['properties'])
    }
  })
})

describe('the partner database', () => {
  it('holds each hotel as the sandbox knows it, byte for byte, those unknown to the service included', async () => {
    const found = await readStream(pool, 'properties')
    expect(found).toHaveLength(options.hotels)
    for (let number = 1; number <= options.hotels; number++) {
      const hotel = hotelAt(options.seed, number)
      expect(found.find((row) => row.partner_id === hotel.partnerId)).toMatchObject({
        name: hotel.name,
        street: hotel.street,
        latitude: hotel.latitude,
        longitude: hotel.longitude,
        country_code: hotel.countryCode,
        airport_code: hotel.airportCode,
        hotel_code: hotel.hotelCode,
        booking_id: hotel.bookingId,
      })
    }
  })

  it('holds the same rows when it is made again with the same seed, and others with another seed', async () => {
    const before = await readEverything(pool)
    await pool.query('drop schema hotelier cascade')
    await createPartnerDatabase(pool, { ...options, seed: 8 })
    const other = await readEverything(pool)
    await pool.query('drop schema hotelier cascade')
    await createPartnerDatabase(pool, options)
    expect(await readEverything(pool)).toEqual(before)
    expect(other.filter((line) => before.includes(line))).toEqual([])
  })

  it('the partner database is left alone when it exists already', async () => {
    const before = await readEverything(pool)
    await expect(createPartnerDatabase(pool, { ...options, seed: 9 })).rejects.toMatchObject({
      code: 'partner_database_exists',
    })
    expect(await readEverything(pool)).toEqual(before)
  })

  it('the partner database is not there at all when making it failed half-way', async () => {
    await using empty = await testDatabase({ template: 'empty' })
    const other = testPool(empty.url, 2)
    const fault = new Error('the progress bar broke')
    const onProgress = (done: number, total: number) => {
      if (done > total / 2) throw fault
    }
    await expect(createPartnerDatabase(other, { ...options, onProgress })).rejects.toBe(fault)
    expect(await partnerDatabaseExists(other)).toBe(false)
    await other.end()
  })

  it('has a row that a person changes by hand read again', async () => {
    const code = hotelAt(options.seed, 3).partnerId
    const before = (await readStream(pool, 'properties')).find((row) => row.partner_id === code)
    await pool.query(`update hotelier.hotel set street = street || 'a' where code = $1`, [code])
    const after = (await readStream(pool, 'properties')).find((row) => row.partner_id === code)
    expect(new Date(String(after?.updated_at)).getTime()).toBeGreaterThan(
      new Date(String(before?.updated_at)).getTime(),
    )
  })
})

describe('the custom property values', () => {
  it('the custom property values are two per hotel, of properties that are no identifiers', async () => {
    const rows = await readStream(pool, 'custom_property_values')
    const plain = catalogue.customProperties.filter(({ isIdentifier }) => !isIdentifier).map(({ id }) => id)
    expect(rows).toHaveLength(2 * options.hotels)
    expect(new Set(rows.map((row) => row.property_id))).toEqual(new Set(plain))
  })
})
