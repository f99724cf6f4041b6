import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { uuid } from '../sample-page.ts'
import { documentsDatabase } from './documents-database.ts'

const things = (...ids: string[]) => ({ things: ids.map((id) => ({ id })) })

describe('the end of a search for documents', () => {
  it('tombstones what it no longer returned, and lifts the tombstone when it returns', async () => {
    await using database = await documentsDatabase()
    await database.night(things('a', 'b'), things('c'))
    expect(await database.night(things('a'), things('c'))).toEqual({ documents: 1, withheld: false, reason: null })
    const times = () => database.db.selectFrom('document').selectAll().orderBy('document_id').execute()
    const [, gone] = await times()
    expect(gone).toMatchObject({ document_id: 'b', removed_at: gone?.changed_at })
    expect(gone?.removed_at).toBeInstanceOf(Date)

    expect(await database.night(things('a', 'b', 'c'))).toMatchObject({ documents: 0, withheld: false })
    const [stays, back] = await times()
    expect(back).toMatchObject({ removed_at: null, first_seen_at: gone?.first_seen_at })
    expect(back?.changed_at.getTime()).toBeGreaterThan(gone?.changed_at.getTime() ?? 0)
    expect(stays).toMatchObject({ changed_at: stays?.first_seen_at })
  })

  it('knows a document by its id in another spelling, on another night and on another page', async () => {
    await using database = await documentsDatabase()
    const ids = ['a', 'b', 'c'].map(uuid)
    const IDS = ids.map((id) => id.toUpperCase())
    const stored = () => database.db.selectFrom('document').selectAll().orderBy('document_id').execute()
    await database.night(things(...ids))
    const before = await stored()
    expect(await database.night(things(...IDS))).toEqual({ documents: 0, withheld: false, reason: null })
    const pick = (rows: typeof before) => rows.map(({ document_id, first_seen_at }) => ({ document_id, first_seen_at }))
    expect(pick(await stored())).toEqual(pick(before))
    await database.night(things(...ids), things(...IDS))
    expect(await database.documents()).toHaveLength(3)
    expect(await database.quarantine()).toHaveLength(3)
  })

  it('replaces an element that has no id when its content changes', async () => {
    await using database = await documentsDatabase()
    await database.night({ notes: ['one', 'two'] })
    expect(await database.night({ notes: ['one', 'three'] })).toMatchObject({ documents: 1 })
    const documents = await database.documents()
    expect(
      documents
        .filter(({ here }) => here)
        .map(({ document }) => document)
        .sort(),
    ).toEqual(['"one"', '"three"'])
    expect(documents.filter(({ here }) => !here).map(({ document }) => document)).toEqual(['"two"'])
  })

  it('goes through a change of every element without an id, and is not taken for having lost them', async () => {
    await using database = await documentsDatabase()
    await database.night({ notes: ['1', '2', '3', '4', '5'] })
    expect(await database.night({ notes: ['6', '7', '8', '9'] })).toEqual({
      documents: 5,
      withheld: false,
      reason: null,
    })
  })

  it('keeps a list where as many new elements with ids came as known ones are gone', async () => {
    await using database = await documentsDatabase()
    await database.night(things('a', 'b', 'c', 'd', 'e'))
    expect(await database.night(things('a', 'v', 'w', 'x', 'y'))).toEqual({
      documents: 0,
      withheld: true,
      reason: 'too_few_documents',
      lists: ['things'],
    })
    expect((await database.documents()).filter(({ here }) => !here)).toEqual([])
  })

  it('keeps a list where as many elements with ids came back as known ones are gone', async () => {
    await using database = await documentsDatabase()
    await database.night(things('a', 'b', 'c', 'x', 'y', 'z'))
    expect(await database.night(things('a', 'b', 'c'))).toMatchObject({ documents: 3 })
    expect(await database.night(things('x', 'y', 'z'))).toEqual({
      documents: 0,
      withheld: true,
      reason: 'too_few_documents',
      lists: ['things'],
    })
    expect((await database.documents()).filter(({ here }) => !here)).toEqual([])
    expect(await database.night(things('a', 'b', 'x', 'y', 'z'))).toMatchObject({ documents: 1, withheld: false })
  })

  it('says of an element that came back that it changed, where a page before the one that brought it differs', async () => {
    await using database = await documentsDatabase()
    await database.night({ things: [{ id: 'a' }, { id: 'b', name: 'was' }] })
    await database.night(things('a'))
    const [first, second] = await database.search(2)
    await database.load(second, JSON.stringify({ things: [{ id: 'b', name: 'second' }] }))
    await database.load(first, JSON.stringify({ things: [{ id: 'a' }, { id: 'b', name: 'first' }] }))
    const counted = await database.db
      .selectFrom('search_page')
      .select(['added', 'changed'])
      .where('submission_id', '=', first?.submission_id ?? 0)
      .orderBy('ordinal')
      .execute()
    expect(counted).toEqual([
      { added: 0, changed: 1 },
      { added: 0, changed: 0 },
    ])
  })

  it('touches no other search', async () => {
    await using database = await documentsDatabase()
    const [other] = await database.search(1, 'other')
    await database.load(other, JSON.stringify(things('a', 'b')), { search: 'other' })
    await database.finish(other)
    await database.night(things('a', 'b', 'c'))
    await database.night(things('a', 'b'))
    const gone = await database.db
      .selectFrom('documents')
      .select(['search', 'document_id'])
      .where('removed_at', 'is not', null)
      .execute()
    expect(gone).toEqual([{ search: 'things', document_id: 'c' }])
  })

  it.each<[string, string, { minSeenShare?: number | null; partial?: boolean }]>([
    ['too_few_documents', 'returned less than the share', { minSeenShare: 0.8 }],
    ['search_partial', 'succeeded in part', { minSeenShare: 0, partial: true }],
    ['search_partial', 'succeeded in part and returned less than the share', { minSeenShare: 0.8, partial: true }],
    ['search_not_configured', 'is configured no more', { minSeenShare: null }],
  ])('withholds removal for %s when it %s', async (reason, _why, options) => {
    await using database = await documentsDatabase()
    await database.night(things('a', 'b', 'c', 'd'))
    const [listed] = await database.search()
    await database.load(listed, JSON.stringify(things('a', 'b', 'c')))
    expect(await database.finish(listed, options)).toMatchObject({ documents: 0, withheld: true, reason })
    expect((await database.documents()).filter(({ here }) => !here)).toEqual([])
    expect(await database.db.selectFrom('search_seen_document').selectAll().execute()).toEqual([])
  })

  it('withholds removal while a page is not loaded, and when there was none', async () => {
    await using database = await documentsDatabase()
    await database.night(things('a', 'b'))
    const pages = await database.search(2)
    await database.load(pages[0], JSON.stringify(things('a')))
    expect(await database.finish(pages[0])).toMatchObject({ withheld: true, reason: 'pages_not_loaded' })
    const [none] = await database.search(0)
    expect(await database.finish(none, { minSeenShare: 0 })).toMatchObject({ withheld: true, reason: 'no_pages' })
    expect((await database.documents()).filter(({ here }) => !here)).toEqual([])
  })

  it('withholds removal when an element was left out that might be any', async () => {
    await using database = await documentsDatabase()
    await database.night(things('a', 'b', 'c'))
    const [listed] = await database.search()
    await database.load(listed, '{"things":[{"id":"a"},{"id":"b"},{"x":"\\u0000"}]}')
    expect(await database.finish(listed)).toMatchObject({ withheld: true, reason: 'unidentified_documents' })
  })

  it.each([
    ['null for its id', { id: null, name: 'e' }],
    ['no id', { name: 'e' }],
    ['null', null],
    ['a number', 7],
  ])('keeps the list of an element that comes with %s, and goes on with the others', async (_what, element) => {
    await using database = await documentsDatabase()
    const notes = (...texts: string[]) => ({ notes: texts })
    await database.night({ ...things('a', 'b', 'c', 'd', 'e'), ...notes('1', '2') })
    const page = { things: [...things('a', 'b', 'c', 'd').things, element], ...notes('1') }
    const kept = { documents: 0, withheld: true, reason: 'unidentified_documents', lists: ['things'] }
    expect(await database.night(page)).toEqual({ ...kept, documents: 1 })
    // It stands by now, and is no more one that could be told from others.
    expect(await database.night(page)).toEqual(kept)
    expect((await database.documents()).filter(({ here }) => !here)).toMatchObject([{ document: '"2"' }])

    expect(await database.night({ ...things('a', 'b', 'c', 'd', 'e'), ...notes('1') })).toEqual({
      documents: 1,
      withheld: false,
      reason: null,
    })
    expect((await database.documents()).filter((one) => one.here && one.list === 'things')).toHaveLength(5)
  })

  it('keeps a list of which every element has lost its id', async () => {
    await using database = await documentsDatabase()
    await database.night(things('a', 'b'))
    expect(await database.night({ things: [{ name: 'a' }, { name: 'b' }] })).toMatchObject({
      documents: 0,
      reason: 'unidentified_documents',
    })
  })

  it('tells elements apart by their content where the members that should be their id are on none', async () => {
    await using database = await documentsDatabase()
    await database.night({ things: [{ key: 'a' }, { key: 'b' }] })
    const ended = await database.night({ things: [{ key: 'a' }] })
    expect(ended).toEqual({ documents: 1, withheld: false, reason: null })
  })

  it('goes over to ids, and from them, where the configuration does', async () => {
    await using database = await documentsDatabase()
    const night = async (ids: Record<string, string[]>) => {
      const [listed] = await database.search()
      await database.load(listed, JSON.stringify(things('a', 'b')), { ids })
      return await database.finish(listed, { idLists: new Set(Object.keys(ids)) })
    }
    await night({})
    expect(await night({ things: ['id'] })).toEqual({ documents: 2, withheld: false, reason: null })
    expect(await night({})).toEqual({ documents: 2, withheld: false, reason: null })
    expect((await database.documents()).filter(({ here }) => here)).toHaveLength(2)
  })

  it('tombstones nothing in a list that a loaded page lacks, and goes on with the other lists', async () => {
    await using database = await documentsDatabase()
    const notes = (...texts: string[]) => ({ notes: texts })
    const night = (second: object) => database.night({ ...things('a', 'b', 'c'), ...notes('1', '2') }, second)
    await night({ ...things('d', 'e'), ...notes('3') })
    expect(await night({ notes: [], things: 0 }).catch((error: unknown) => error)).toMatchObject({
      code: 'page_malformed',
    })
    expect(await night(notes())).toEqual({ documents: 1, withheld: true, reason: 'list_missing', lists: ['things'] })
    expect((await database.documents()).filter(({ here }) => !here)).toMatchObject([{ document: '"3"' }])
    expect(await database.quarantine()).toEqual([{ item: 'things', reason: 'list_missing', excerpt: '' }])
    // Nobody says of notes that they are a list.
    expect(await night({ notes: null, ...things('d') })).toMatchObject({ documents: 1, withheld: false })
  })

  it('says nothing of a list that a page lacks where all of its documents are on others', async () => {
    await using database = await documentsDatabase()
    const heads = { heads: ['x', 'y'] }
    for (let night = 0; night < 2; night++) {
      const ended = await database.night({ ...things('a') }, { ...things('b'), ...heads })
      expect(ended).toEqual({ documents: 0, withheld: false, reason: null })
    }
    expect(await database.quarantine()).toEqual([])
  })

  it('tombstones in a list that pages lack where no share of it need be seen', async () => {
    await using database = await documentsDatabase()
    await database.night({ ...things('a'), heads: ['x'] })
    const [listed] = await database.search()
    await database.load(listed, JSON.stringify(things('a')))
    expect(await database.finish(listed, { minSeenShare: 0 })).toEqual({ documents: 1, withheld: false, reason: null })
  })

  it('tombstones in a list that has an element without an id where no share of it need be seen', async () => {
    await using database = await documentsDatabase()
    const page = (...ids: string[]) => ({ things: [...things(...ids).things, { name: 'no id, for good' }] })
    await database.night(page('a', 'b', 'c'))
    const end = async (minSeenShare: number) => {
      const [listed] = await database.search()
      await database.load(listed, JSON.stringify(page('a', 'b')))
      return await database.finish(listed, { minSeenShare })
    }
    expect(await end(0.01)).toMatchObject({ documents: 0, reason: 'unidentified_documents' })
    expect(await end(0)).toEqual({ documents: 1, withheld: false, reason: null })
  })

  it('judges each list by itself: one that is gone is not made good by another that stays', async () => {
    await using database = await documentsDatabase()
    const heads = { heads: ['1', '2', '3', '4', '5', '6'] }
    await database.night({ ...heads, ...things('a', 'b', 'c', 'd', 'e'), more: ['x', 'y'] })
    expect(await database.night({ ...heads, things: [], more: ['y'] })).toEqual({
      documents: 1,
      withheld: true,
      reason: 'too_few_documents',
      lists: ['things'],
    })
    expect((await database.documents()).filter(({ here }) => !here)).toMatchObject([{ list: 'more' }])
  })

  it.each([
    ['was ahead when it first returned them', 'document set first_seen_at'],
    ['was ahead when it was planned, too', 'document set first_seen_at = now(); update submission set planned_at'],
  ])(
    'keeps a list that comes back empty after the clock of our database was put back, which %s',
    async (_when, set) => {
      await using database = await documentsDatabase()
      await database.night(things('a', 'b'))
      const [listed] = await database.search()
      for (const statement of `update ${set} = now() + interval '1 hour'`.split('; ')) {
        await sql.raw(statement).execute(database.db)
      }
      await database.load(listed, JSON.stringify(things()))
      expect(await database.finish(listed)).toMatchObject({ documents: 0, reason: 'too_few_documents' })
      expect((await database.documents()).filter(({ here }) => here)).toHaveLength(2)
    },
  )

  it('comes once, however often it is asked for', async () => {
    await using database = await documentsDatabase()
    await database.night(things('a', 'b'))
    const [listed] = await database.search()
    await database.load(listed, JSON.stringify(things('a')))
    expect(await database.finish(listed)).toMatchObject({ documents: 1 })
    expect(await database.finish(listed)).toBeNull()
    const { search_result } = await database.db
      .selectFrom('submission')
      .select('search_result')
      .orderBy('submission_id', 'desc')
      .executeTakeFirstOrThrow()
    expect(search_result).toEqual({ documents: 1, withheld: false, reason: null })
  })
})
