import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { createPartnerDatabase } from '../../src/demo/partner/create-partner-database.ts'
import { addedHotelNumber, applySecondNight } from '../../src/demo/partner/second-night.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { hotelAt, isKnownToService } from '../../src/sandbox/hotels.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'
import { testPool } from '../helpers/test-pool.ts'
import { demoStreams, type Row, readEverything, readStream } from './read-streams.ts'

const seed = 7
const firstNight = new Date('2026-11-20T02:00:00Z')
const secondNight = new Date('2026-11-21T02:00:00Z')

async function firstNightDatabase(hotels: number) {
  const database = await testDatabase({ template: 'empty' })
  const pool = testPool(database.url, 2)
  await createPartnerDatabase(pool, { hotels, seed, asOf: firstNight })
  return {
    pool,
    [Symbol.asyncDispose]: async () => {
      await pool.end()
      await database[Symbol.asyncDispose]()
    },
  }
}

async function readAll(pool: pg.Pool): Promise<Record<string, Row[]>> {
  const streams: Record<string, Row[]> = {}
  for (const name of Object.keys(demoStreams)) streams[name] = await readStream(pool, name)
  return streams
}

/** What identifies a row of each stream. */
const values = ['updated_at', 'value', 'name', 'street', 'latitude', 'longitude']
const keyOf = (row: Row) => JSON.stringify(Object.entries(row).filter(([column]) => !values.includes(column)))
const idsOf = (rows: Row[]) => [...new Set(rows.map((row) => String(row.partner_id)))].sort()

function changesOf(before: Row[] = [], after: Row[] = []) {
  const old = new Map(before.map((row) => [keyOf(row), row]))
  const pairs = after.map((row) => ({ was: old.get(keyOf(row)), is: row }))
  return {
    added: pairs.filter(({ was }) => was === undefined).map(({ is }) => is),
    changed: pairs.flatMap(({ was, is }) => (was && JSON.stringify(was) !== JSON.stringify(is) ? [{ was, is }] : [])),
    removed: before.length - pairs.filter(({ was }) => was !== undefined).length,
  }
}

function dataPointIdOf(title: string): string | undefined {
  return catalogue.frameworks
    .flatMap(({ topics }) => topics.flatMap(({ subtopics }) => subtopics.flatMap(({ clusters }) => clusters)))
    .flatMap(({ questions }) => questions.flatMap(({ dataPoints }) => dataPoints))
    .find((dataPoint) => dataPoint.title === title)?.id
}

describe('the second night', () => {
  it('changes what it says that it changed, and nothing else', async () => {
    await using database = await firstNightDatabase(200)
    const before = await readAll(database.pool)
    const night = await applySecondNight(database.pool, { hotels: 200, seed, asOf: secondNight })
    const after = await readAll(database.pool)
    const changes = Object.fromEntries(
      Object.keys(demoStreams).map((name) => [name, changesOf(before[name], after[name])]),
    )

    for (const [name, { added, removed, changed }] of some(Object.entries(changes))) {
      expect(removed, name).toBe(0)
      expect(
        idsOf(added).filter((id) => !night.added.includes(id)),
        name,
      ).toEqual([])
      if (!['properties', 'framework_answers', 'calculator_inputs'].includes(name)) expect(changed, name).toEqual([])
      for (const { is } of [...changed, ...added.map((row) => ({ is: row }))]) {
        expect(new Date(String(is.updated_at)), name).toEqual(secondNight)
      }
    }
    for (const name of ['properties', 'framework_answers', 'calculator_inputs', 'calculator_settings']) {
      expect(idsOf(changes[name]?.added ?? []), name).toEqual(night.added)
    }

    const hotels = changes.properties?.changed ?? []
    const differing = (column: string) =>
      idsOf(hotels.filter(({ was, is }) => was[column] !== is[column]).map(({ is }) => is))
    expect(differing('name')).toEqual(night.renamed)
    expect(differing('street')).toEqual(night.moved)
    expect(differing('latitude')).toEqual(night.moved)
    expect(hotels).toHaveLength(night.renamed.length + night.moved.length)

    const readings = changes.calculator_inputs?.changed ?? []
    expect(idsOf(readings.map(({ is }) => is))).toEqual(night.readingsCorrected)
    expect(readings.every(({ was, is }) => Number(is.value) > Number(was.value))).toBe(true)
    expect(readings).toHaveLength(2 * night.readingsCorrected.length)

    const answers = changes.framework_answers?.changed ?? []
    const answersOf = (title: string) => answers.filter(({ is }) => is.data_point_id === dataPointIdOf(title))
    const shares = answersOf('Share of renewable electricity')
    expect(idsOf(shares.map(({ is }) => is))).toEqual(night.answersChanged)
    expect(
      shares.every(({ was, is }) => was.value !== is.value && Number(is.value) >= 0 && Number(is.value) <= 100),
    ).toBe(true)
    expect(answersOf('Employees').map(({ is }) => [is.partner_id, is.value])).toEqual([
      [night.rejectedByService[0], '2000000'],
    ])
    expect(answersOf('Share of women in management').map(({ is }) => [is.partner_id, is.value])).toEqual([
      [night.invalidHere[0], 'about half'],
    ])
    expect(answers).toHaveLength(night.answersChanged.length + 2)
  })

  it('touches only hotels that the service knows, each for one reason', async () => {
    await using database = await firstNightDatabase(200)
    const night = await applySecondNight(database.pool, { hotels: 200, seed, asOf: secondNight })
    const ids = Object.values(night).flat()
    expect(new Set(ids).size).toBe(ids.length)
    const unknown = Array.from({ length: 201 }, (_, index) => index + 1).filter((number) => !isKnownToService(number))
    expect(ids.filter((id) => unknown.some((number) => hotelAt(seed, number).partnerId === id))).toEqual([])
  })

  it('gives the new hotel the rows that it would have had from the start', async () => {
    await using database = await firstNightDatabase(4)
    await using larger = await firstNightDatabase(5)
    await applySecondNight(database.pool, { hotels: 4, seed, asOf: secondNight })
    for (const name of Object.keys(demoStreams)) {
      const rowsOf = async (pool: pg.Pool) =>
        (await readStream(pool, name))
          .filter((row) => row.partner_id === 'H-0005')
          .map((row) => JSON.stringify({ ...row, updated_at: null }))
          .sort()
      expect(await rowsOf(database.pool), name).toEqual(await rowsOf(larger.pool))
    }
  })

  it('adds a hotel that the service knows, also where the next number is unknown to it', () => {
    expect(addedHotelNumber(48)).toBe(49)
    expect(addedHotelNumber(49)).toBe(51)
  })

  it('works with a single hotel, which then plays every part', async () => {
    await using database = await firstNightDatabase(1)
    const night = await applySecondNight(database.pool, { hotels: 1, seed, asOf: secondNight })
    const { added, ...others } = night
    expect(added).toEqual(['H-0002'])
    expect(Object.values(others)).toEqual(Array.from({ length: 6 }, () => ['H-0001']))
  })

  it('the second night is refused a second time, and when hotels are missing, and then changes nothing', async () => {
    await using database = await firstNightDatabase(20)
    const pool = database.pool
    const asFirst = await readEverything(pool)
    const missing = applySecondNight(pool, { hotels: 20_000, seed, asOf: secondNight })
    await expect(missing).rejects.toMatchObject({ code: 'partner_database_unexpected' })
    expect(await readEverything(pool)).toEqual(asFirst)

    await applySecondNight(pool, { hotels: 20, seed, asOf: secondNight })
    const asSecond = await readEverything(pool)
    const again = applySecondNight(pool, { hotels: 20, seed, asOf: secondNight })
    await expect(again).rejects.toMatchObject({ code: 'partner_database_unexpected' })
    expect(await readEverything(pool)).toEqual(asSecond)
  })
})
