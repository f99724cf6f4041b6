import { sql } from 'kysely'
import type pg from 'pg'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { settings } from '../../../../src/config/schema.ts'
import {
  doubtfulProperties,
  leftOutProperties,
  missingProperties,
  unobtainableProperties,
} from '../../../../src/pipeline/pull/search/requested-properties.ts'
import { emptyTables } from '../../../helpers/empty-tables.ts'
import { bodyOf, company, contract, samplePage, uuid } from '../sample-page.ts'
import { type SearchDatabase, searchDatabase } from '../search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

const [brand, rooms, foreign] = [uuid('brand'), uuid('rooms'), uuid('foreign')]

beforeEach(async () => {
  await emptyTables(db, ['reference_data', 'custom_property', 'submission'])
})

/** What the service lists as custom properties: one of the key's own profile, and one of another. */
async function cached(): Promise<void> {
  const documents = [
    { id: brand, name: 'Brand', isOwnedByInvokingCompany: true, ownerName: 'Us' },
    { id: foreign, name: 'House number', isOwnedByInvokingCompany: false, ownerName: 'Harbour & Hill' },
  ]
  await sql`
    insert into reference_data (kind, id, document, fetched_at, changed_at, version)
    select 'custom_property', value ->> 'id', value, now(), now(), 1
    from jsonb_array_elements(${JSON.stringify(documents)}::jsonb)`.execute(db)
}

/** Loads a search of these pages and says what it left out of what was asked for. */
async function leftOut(pages: unknown[], requested: string[]) {
  const listed = await database.search(pages.length)
  for (const [index, page] of listed.entries()) await database.load(page, bodyOf(pages[index]))
  return await leftOutProperties(db, listed[0]?.submission_id ?? 0, requested)
}

const pageNaming = (...ids: string[]) => ({
  ...samplePage([company('A')]),
  customProperties: ids.map((id) => ({ id, name: id })),
})

describe('a search that asks for custom properties', () => {
  it('left none out where its pages name all of them, also one that no company has a value for', async () => {
    await cached()
    expect(await leftOut([pageNaming(brand, rooms)], [brand, rooms])).toEqual([])
  })

  it('left out what no page names, with the reason that the reference data give', async () => {
    await cached()
    expect(await leftOut([pageNaming(brand), pageNaming(brand)], [foreign, brand, rooms])).toEqual([
      { property_id: foreign, name: 'House number', owner: 'Harbour & Hill', why: 'not_owned' },
      { property_id: rooms, name: null, owner: null, why: 'unknown' },
    ])
  })

  it('left out all of them where a page names none, and says so without reference data too', async () => {
    const { customProperties: _, ...page } = pageNaming()
    expect(await leftOut([page], [brand])).toEqual([
      { property_id: brand, name: null, owner: null, why: 'unexplained' },
    ])
  })

  it('has no reason where the profile owns what was left out', async () => {
    await cached()
    expect(await leftOut([pageNaming(rooms)], [brand])).toMatchObject([{ why: 'unexplained', name: 'Brand' }])
  })

  it('did not leave out a property whose name cannot be read, nor one in other letters', async () => {
    const page = {
      ...pageNaming(),
      customProperties: [
        { id: brand, name: 7 },
        { id: rooms.toUpperCase(), name: 'R' },
      ],
    }
    expect(await leftOut([page], [brand, rooms])).toEqual([])
  })

  it('a search that asks for custom properties is not judged while no page has said what it names', async () => {
    const [page] = await database.search()
    if (page === undefined) throw new Error('no page was listed')
    expect(await leftOutProperties(db, page.submission_id, [brand])).toEqual([])
    await db
      .updateTable('search_page')
      .set({ state: 'loaded', listed_property_ids: [brand] })
      .where('page_id', '=', page.page_id)
      .execute()
    expect(await leftOutProperties(db, page.submission_id, [brand, rooms])).toMatchObject([{ property_id: rooms }])
  })

  it('a search that asks for custom properties is judged in little memory, whatever else the pages list', async () => {
    const [page] = await database.search()
    if (page === undefined) throw new Error('no page was listed')
    await sql`
      update search_page set state = 'loaded',
        listed_property_ids = array(select repeat('p', 192) || nth from generate_series(10001, 12000) nth) || ${[rooms]}::text[]
      where page_id = ${page.page_id}`.execute(db)
    let received = 0
    const counted = (client: pg.PoolClient) => {
      const { stream } = (client as unknown as { connection: { stream: NodeJS.ReadableStream } }).connection
      stream.on('data', (chunk: Buffer) => (received += chunk.length))
    }
    database.pool.on('acquire', counted)
    expect(await leftOutProperties(db, page.submission_id, [brand, rooms])).toMatchObject([{ property_id: brand }])
    database.pool.off('acquire', counted)
    expect(received).toBeLessThan(100_000)
  })

  it('a search that asks for custom properties is known beforehand not to get what is not owned or not there, once reference data were fetched', async () => {
    expect(await doubtfulProperties(db, [brand, rooms, foreign])).toEqual([])
    await cached()
    expect(await doubtfulProperties(db, [brand, rooms, foreign.toUpperCase()])).toMatchObject([
      { property_id: rooms, why: 'unknown' },
      { property_id: foreign.toUpperCase(), why: 'not_owned', owner: 'Harbour & Hill' },
    ])
  })
})

it('what was left out stands until it is asked for no more, and is not said twice', async () => {
  await cached()
  const missing = await leftOut([pageNaming(brand)], [brand, foreign])
  const { run_id } = await db.selectFrom('run').select('run_id').executeTakeFirstOrThrow()
  await db
    .updateTable('submission')
    .set({ search_result: JSON.stringify({ left_out_properties: missing }) })
    .execute()
  expect(await missingProperties(db, [brand, foreign, rooms])).toMatchObject({
    left_out: [{ property_id: foreign, why: 'not_owned' }],
    left_out_in_run: run_id,
    doubtful: [{ property_id: rooms }],
  })
  expect(await missingProperties(db, [brand])).toEqual({ left_out: [], left_out_in_run: null, doubtful: [] })
})

it('what another profile owns is told of the searches for documents, whose pages say nothing of it', async () => {
  await cached()
  const searches = settings.parse({
    pull: { searches: [{ name: 'ours', search: 'companiesSearch', body: { customPropertyIds: [brand, foreign] } }] },
  }).pull.searches
  const asked = { customPropertyIds: [foreign], searches }
  expect(await unobtainableProperties(db, asked, { names: contract.names }, new Set())).toMatchObject([
    { setting: 'The search ours in pull.searches', ids: [], foreign: [{ property_id: foreign, why: 'not_owned' }] },
  ])
})
