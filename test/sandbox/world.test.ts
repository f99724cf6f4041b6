import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { add, divide, formatDecimal, multiply, parseDecimal, zero } from '../../src/sandbox/decimal.ts'
import { durationsWith, processingMs } from '../../src/sandbox/durations.ts'
import { companyIdAt, hotelAt } from '../../src/sandbox/hotels.ts'
import { parseDuration } from '../../src/sandbox/parse-duration.ts'
import { acceptsGzip } from '../../src/sandbox/server/accepts-gzip.ts'
import { uuidFrom } from '../../src/sandbox/uuid-from.ts'
import { some } from '../helpers/some.ts'
import { type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

describe('the made-up world', () => {
  it('gives the same hotel for the same seed and number, and others for others', () => {
    expect(hotelAt(7, 1)).toEqual(hotelAt(7, 1))
    expect(hotelAt(7, 1)).not.toEqual(hotelAt(8, 1))
    expect(companyIdAt(7, 1)).not.toBe(companyIdAt(7, 2))
  })

  it('gives each hotel a code or a booking id, and neither twice', () => {
    const hotels = Array.from({ length: 5000 }, (_, index) => hotelAt(seed, index + 1))
    for (const hotel of some(hotels)) expect(hotel.hotelCode ?? hotel.bookingId).not.toBeNull()
    const codes = hotels.flatMap((hotel) => hotel.hotelCode ?? [])
    const bookings = hotels.flatMap((hotel) => hotel.bookingId ?? [])
    expect(new Set(codes).size).toBe(codes.length)
    expect(new Set(bookings).size).toBe(bookings.length)
  })

  it('makes UUIDs of version 8 that do not change', () => {
    expect(uuidFrom('')).toBe('e3b0c442-98fc-8c14-9afb-f4c8996fb924')
    fc.assert(
      fc.property(fc.string(), (text) =>
        /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuidFrom(text)),
      ),
    )
  })
})

describe('decimals', () => {
  const decimal = (text: string) => parseDecimal(text) ?? zero
  it('compute exactly what binary fractions cannot', () => {
    expect(formatDecimal(add(decimal('0.1'), decimal('0.2')))).toBe('0.3')
    expect(formatDecimal(multiply(decimal('1000.50'), decimal('0.20705')))).toBe('207.153525')
    expect(formatDecimal(divide(decimal('2'), decimal('3'), 6))).toBe('0.666667')
    expect(formatDecimal(divide(decimal('1'), decimal('0.125'), 6))).toBe('8')
    expect(formatDecimal(divide(decimal('-2'), decimal('3'), 6))).toBe('-0.666667')
    expect(formatDecimal(divide(decimal('-1'), decimal('3'), 6))).toBe('-0.333333')
    expect(formatDecimal(divide(decimal('-1'), decimal('3'), 0))).toBe('0')
    expect(formatDecimal(divide(decimal('-1'), decimal('2'), 0))).toBe('-1')
    expect(formatDecimal(decimal('-0.50'))).toBe('-0.5')
  })

  it.each(['', ' 1', '1e5', '.5', '5.', '+1', '0x1', '1,5', '١', 'NaN'])('do not read %j', (text) => {
    expect(parseDecimal(text)).toBeNull()
  })

  it('add and multiply like whole numbers', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt(), (left, right) => {
        const sum = formatDecimal(add(decimal(String(left)), decimal(String(right))))
        const product = formatDecimal(multiply(decimal(String(left)), decimal(String(right))))
        return sum === String(left + right) && product === String(left * right)
      }),
    )
  })
})

describe('durations', () => {
  it('grow with the items, stay within the jitter, and repeat for the same seed', () => {
    const durations = durationsWith({ processing: { companyMappings: { baseMs: 100, perItemUs: 1000 } }, jitter: 0.5 })
    const times = Array.from({ length: 200 }, (_, sequence) =>
      processingMs(durations, { request: 'companyMappings', items: 100, sequence }, seed),
    )
    expect(Math.min(...times)).toBeGreaterThanOrEqual(100)
    expect(Math.max(...times)).toBeLessThanOrEqual(300)
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(100)
    expect(processingMs(durations, { request: 'companyMappings', items: 100, sequence: 3 }, seed)).toBe(times[3])
  })
})

describe('durations on the command line', () => {
  it.each([
    ['calculatorsSearch=500ms+20us', 'calculatorsSearch', 500, 20],
    ['companyMappings=2s', 'companyMappings', 2000, 0],
    ['companiesUpsert=0ms+1.5ms', 'companiesUpsert', 0, 1500],
    ['standardsSearch=250us+0us', 'standardsSearch', 0.25, 0],
  ])('read %s', (text, request, baseMs, perItemUs) => {
    expect(parseDuration(text)).toEqual({ request, processing: { baseMs, perItemUs } })
  })

  it.each(['', 'calculatorsSearch', 'calculatorsSearch=', 'calculatorsSearch=5', 'calculatorsSearch=-5ms', 'x=5ms'])(
    'do not read %j',
    (text) => {
      expect(() => parseDuration(text)).toThrow(expect.objectContaining({ code: 'duration_invalid' }))
    },
  )
})

it.each([
  ['gzip', true],
  ['deflate, GZIP;q=0.5', true],
  ['gzip;q=0', false],
  ['gzip ; q=0.000', false],
  ['x-gzipped', false],
  [undefined, false],
])('the sandbox reads Accept-Encoding %j as gzip: %s', (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected)
})

describe('starting on a database that was seeded before', () => {
  let sandbox: OpenSandbox
  afterEach(() => sandbox.close())
  const count = async () => (await sandbox.pool.query('select count(*)::int as n from sandbox.company')).rows[0]?.n

  it('keeps what is there, adds what is missing, and refuses another seed', async () => {
    sandbox = await openSandbox({ companies: 100 })
    expect(await count()).toBe(98)
    await sandbox.stop()
    await sandbox.start({ companies: 50 })
    expect(await count()).toBe(98)
    await sandbox.stop()
    await expect(sandbox.start({ seed: seed + 1 })).rejects.toMatchObject({ code: 'sandbox_seed_mismatch' })
    await sandbox.start({ companies: 151 })
    expect(await count()).toBe(148)
  })
})
