import type { StreamConfig, StreamName } from '../../src/config/schema.ts'
import { dataPointsOf, questionsOf } from '../../src/sandbox/catalogue/frameworks.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { hotelAt } from '../../src/sandbox/hotels.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { testPool } from '../helpers/test-pool.ts'
import { copying } from './copying.ts'

/** The world of the sandbox that the model talks to. */
export const seed = 7

/**
 * Hotels that the service knows. A sibling integration of the profile writes to the last one, we to the first three.
 */
export const knownHotels = 6
/** Nobody there has heard of it. */
export const unknownHotel = 9
export const siblingHotel = 6
export const ourHotels = [1, 2, 3, unknownHotel]

export type Capture = 'cursor' | 'snapshot'
export type PartnerValues = Readonly<Record<string, string | null>>

/** What names a row of the partner. */
export type RowName = { stream: StreamName; key: PartnerValues }
/**
 * One row that may stand in the partner's database, and what it may say; `insteadOf`: the row that it takes the place
 * of.
 */
export type Cell = RowName & { values: readonly PartnerValues[]; insteadOf?: RowName }

/** The columns of each table: those that name a row, and the others. */
const columns: Record<StreamName, { key: readonly string[]; rest: readonly string[] }> = {
  properties: {
    key: ['partner_id'],
    rest: ['name', 'street', 'latitude', 'longitude', 'country_code', 'airport_code', 'hotel_code', 'booking_id'],
  },
  framework_answers: {
    key: ['partner_id', 'framework_id', 'period_type', 'year', 'month', 'data_point_id'],
    rest: ['value', 'value_type', 'unit_id'],
  },
  omissions: { key: ['partner_id', 'period_type', 'year', 'month', 'question_id'], rest: [] },
  calculator_inputs: { key: ['partner_id', 'year', 'month', 'field_type_id'], rest: ['value'] },
  calculator_settings: { key: ['partner_id'], rest: ['automatic_yearly_calculation', 'automatic_publishing'] },
  custom_property_values: { key: ['partner_id', 'property_id'], rest: ['value'] },
  standard_holders: { key: ['partner_id', 'standard_id'], rest: ['level', 'start_date', 'expiry_date'] },
}
export const streams = Object.keys(columns) as StreamName[]

const [hotelFramework, coastFramework] = catalogue.frameworks
if (hotelFramework === undefined || coastFramework === undefined) throw new Error('the catalogue has two frameworks')

const pointOf = (framework: typeof hotelFramework, title: string) => {
  const found = dataPointsOf(framework).find((point) => point.title === title)
  if (found === undefined) throw new Error(`the catalogue has no data point ${title}`)
  return found.id
}
const employees = pointOf(hotelFramework, 'Employees')
const training = pointOf(hotelFramework, 'Training described')
const trainingQuestion =
  questionsOf(hotelFramework).find(({ dataPoints }) => dataPoints.some(({ id }) => id === training))?.id ?? ''
const shore = pointOf(coastFramework, 'Protection of the shore')
const shoreOptions =
  dataPointsOf(coastFramework)
    .find(({ id }) => id === shore)
    ?.options.map(({ id }) => id) ?? []
const question = questionsOf(hotelFramework)[0]?.id ?? ''
const fields = catalogue.fieldTypes.slice(0, 2).map(({ id }) => id)
const bronze = catalogue.standards[0]?.id ?? ''

/** More than the service allows for `Employees`; it does not publish the limit, so only it can refuse the row. */
export const tooMany = '999999'
/** Not what `Rooms` may hold, nor a level of the standard. */
export const noNumber = 'about forty'
export const noLevel = 'Tin'

/**
 * Of which hotel of the service a hotel may turn out to be: two of ours may become one company, and one of ours may
 * become what another is.
 */
const otherHotel: ReadonlyMap<number, number> = new Map([
  [1, 2],
  [2, 4],
  [3, 4],
])

/** Every row that there may be: twelve of each hotel. */
const cells: readonly Cell[] = ourHotels.flatMap((number) => {
  const hotel = hotelAt(seed, number)
  const partner_id = hotel.partnerId
  const right = {
    name: hotel.name,
    street: hotel.street,
    latitude: String(hotel.latitude),
    longitude: String(hotel.longitude),
    country_code: hotel.countryCode,
    airport_code: hotel.airportCode,
    hotel_code: hotel.hotelCode,
    booking_id: hotel.bookingId,
  }
  const year = { period_type: 'Yearly', year: '2025', month: '1' }
  const answer = (framework_id: string | null, data_point_id: string, value_type: string, values: string[]): Cell => ({
    stream: 'framework_answers',
    key: { partner_id, framework_id, ...year, data_point_id },
    values: values.map((value) => ({ value, value_type, unit_id: null })),
  })
  const other = otherHotel.get(number)
  const employed = answer(hotelFramework.id, employees, 'number', ['12', '13', tooMany])
  const trained = answer(hotelFramework.id, training, 'text', ['In spring', 'In "autumn"', 'Łódź 🏨'])
  const untrained: Cell = {
    stream: 'omissions',
    key: { partner_id, ...year, question_id: trainingQuestion },
    values: [{}],
  }
  const unnamed: Cell = answer(null, employees, 'number', ['14', '12'])
  const input = (field_type_id: string): Cell => ({
    stream: 'calculator_inputs',
    key: { partner_id, year: '2025', month: '3', field_type_id },
    values: ['10', '20.5', '30', null].map((value) => ({ value })),
  })
  return [
    {
      stream: 'properties',
      key: { partner_id },
      values: [
        right,
        { ...right, street: `${hotel.street} b` },
        { ...right, name: 'Nowhere Inn', hotel_code: null, booking_id: null },
        { ...right, longitude: null },
        ...(other === undefined ? [] : [{ ...right, hotel_code: hotelAt(seed, other).hotelCode }]),
      ],
    },
    { ...employed, insteadOf: unnamed },
    { ...trained, insteadOf: untrained },
    answer(coastFramework.id, shore, 'list', shoreOptions.slice(0, 2)),
    { stream: 'omissions', key: { partner_id, ...year, question_id: question }, values: [{}] },
    // A hotel declines what it had answered, or answers what it had declined; and a row moves to another framework.
    { ...untrained, insteadOf: trained },
    { ...unnamed, insteadOf: employed },
    ...fields.map(input),
    {
      stream: 'calculator_settings',
      key: { partner_id },
      values: [
        { automatic_yearly_calculation: 'true', automatic_publishing: 'false' },
        { automatic_yearly_calculation: 'false', automatic_publishing: 'false' },
      ],
    },
    {
      stream: 'custom_property_values',
      key: { partner_id, property_id: catalogue.roomsPropertyId },
      values: [{ value: '40' }, { value: '41' }, { value: noNumber }],
    },
    {
      stream: 'standard_holders',
      key: { partner_id, standard_id: bronze },
      values: ['Bronze', 'Silver', noLevel].map((level) => ({
        level,
        start_date: '2025-01-01',
        expiry_date: '2026-01-01',
      })),
    },
  ]
})

/** Those of some streams. */
export function cellsOf(of: readonly StreamName[]): Cell[] {
  return cells.filter(({ stream }) => of.includes(stream))
}

/** What a property's details decide: the service finds its company, does not, or is not asked. */
export function isGood(stream: StreamName, content: Readonly<Record<string, unknown>>, partnerId: string): boolean {
  switch (stream) {
    case 'properties':
      return (
        ('hotel_code' in content || 'booking_id' in content) &&
        'longitude' in content &&
        partnerId !== hotelAt(seed, unknownHotel).partnerId
      )
    case 'framework_answers':
      return content.value !== tooMany
    case 'calculator_inputs':
      // A null that was never anything else is not in the ledger; one that takes back what was sent is taken, as a
      // blank.
      return Object.keys(content.inputs as Record<string, string | null>).length > 0
    case 'custom_property_values':
      return content.value !== noNumber
    case 'standard_holders':
      return content.level !== noLevel
    case 'omissions':
    case 'calculator_settings':
      return true
    default:
      return stream satisfies never
  }
}

export type Partner = {
  url: string
  put(cell: Cell, values: PartnerValues): Promise<void>
  remove(row: RowName): Promise<void>
  /** Waits until what was put is old enough to move a watermark. */
  ripe(): Promise<void>
  /**
   * Ends the readers that a dead process left: their open transactions would keep every later watermark where it is.
   */
  bury(): Promise<void>
  /** Every row of every table. */
  rows(): Promise<{ stream: StreamName; row: PartnerValues }[]>
  /** Keeps a copy of every table as it is now. */
  dump(): Promise<void>
  /** Puts the copy back in the place of the tables. */
  restore(): Promise<void>
  /** Empty tables. */
  clear(): Promise<void>
  close(): Promise<void>
}

/** No row of the last tenth of a second moves a watermark (src/partner/postgres-cursor.ts). Milliseconds. */
const ripeMs = 120

/** A hotel group's database: a table per stream, with a time of the last change. */
export async function openPartner(): Promise<Partner> {
  const database = await testDatabase({ template: 'empty' })
  const pool = testPool(database.url, 2)
  for (const stream of streams) {
    const { key, rest } = columns[stream]
    const all = [...key, ...rest].map((column) => `${column} text`).join(', ')
    await pool.query(
      `create table ${stream} (${all}, at timestamptz not null default clock_timestamp(),
         unique nulls not distinct (${key.join(', ')}))`,
    )
  }
  const copies = await copying(pool, ['public'], [])
  const remove: Partner['remove'] = async ({ stream, key }) => {
    const named = columns[stream].key
    await pool.query(
      `delete from ${stream}
       where ${named.map((column, at) => `${column} is not distinct from $${at + 1}`).join(' and ')}`,
      named.map((column) => key[column]),
    )
  }
  let lastPut = 0
  const put: Partner['put'] = async ({ stream, key, insteadOf }, values) => {
    if (insteadOf !== undefined) await remove(insteadOf)
    const { key: named, rest } = columns[stream]
    const all = [...named, ...rest]
    const updates = [...rest.map((column) => `${column} = excluded.${column}`), 'at = clock_timestamp()']
    await pool.query(
      `insert into ${stream} (${all.join(', ')}) values (${all.map((_, at) => `$${at + 1}`).join(', ')})
       on conflict (${named.join(', ')}) do update set ${updates.join(', ')}`,
      all.map((column) => ({ ...key, ...values })[column] ?? null),
    )
    lastPut = Date.now()
  }
  return {
    url: database.url,
    put,
    remove,
    ripe: async () => {
      const waitMs = lastPut + ripeMs - Date.now()
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    },
    bury: async () => {
      await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'nightferry extract'`,
      )
    },
    rows: async () => {
      const { rows } = await pool.query<{ stream: StreamName; row: PartnerValues }>(
        streams
          .map((stream) => `select '${stream}' as stream, to_jsonb(t) - 'at' as row from ${stream} t`)
          .join(' union all '),
      )
      return rows
    },
    dump: async () => {
      await pool.query(copies.dump)
    },
    restore: async () => {
      await pool.query(copies.restore)
    },
    clear: async () => {
      await pool.query(streams.map((stream) => `delete from ${stream}`).join('; '))
    },
    close: async () => {
      await pool.end()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** The streams of the configuration over these tables. */
export function streamSettings(capture: Capture, of: readonly StreamName[]): Record<string, Partial<StreamConfig>> {
  return Object.fromEntries(
    of.map((stream) => {
      const { key, rest } = columns[stream]
      const query = `select ${[...key, ...rest, 'at'].join(', ')} from ${stream}`
      const requires: StreamName[] = stream === 'properties' ? [] : ['properties']
      return [stream, { query, capture, requires, ...(capture === 'cursor' && { cursor: 'at' }) }]
    }),
  )
}
