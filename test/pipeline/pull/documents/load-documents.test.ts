import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { some } from '../../../helpers/some.ts'
import { documentsDatabase } from './documents-database.ts'

const page = (...things: string[]) => `{"things":[${things.join(',')}]}`

describe('a page kept as documents', () => {
  it('gives a document per element of every list at its top, and nothing of anything else', async () => {
    await using database = await documentsDatabase()
    const [listed] = await database.search()
    const text = `{"total":2,"note":"x","things":[{"id":"a","n":1},{"id":"b"}],"deep":{"things":[{"id":"c"}]},"more":["text",7,null,[1]],"none":[]}`
    expect(await database.load(listed, text)).toEqual({
      documents: 6,
      added: 6,
      changed: 0,
      unchanged: 0,
      quarantined: 0,
      unidentified: 0,
      bytes: text.length,
    })
    const documents = await database.documents()
    expect(documents.map(({ list, document }) => [list, document])).toEqual([
      ...[
        ['more', '"text"'],
        ['more', '7'],
        ['more', 'null'],
        ['more', '[1]'],
      ].toSorted(
        (a, b) =>
          documents.findIndex(({ document }) => document === a[1]) -
          documents.findIndex(({ document }) => document === b[1]),
      ),
      ['things', '{"n": 1, "id": "a"}'],
      ['things', '{"id": "b"}'],
    ])
    for (const { list, document_id } of some(documents)) {
      expect(document_id).toMatch(list === 'things' ? /^[ab]$/ : /^sha256:[0-9a-f]{64}$/)
    }
  })

  it('a page kept as documents is the same in whatever chunks it comes', async () => {
    await using database = await documentsDatabase()
    const text = page('{"id":"å\\n\\u20ac","v":[1.50,-0.1e-2,true,{"𝄞":null}]}', '{"id":"b\\t\\\\"}')
    for (const [chunk, search] of [
      [1, 'one'],
      [7, 'seven'],
      [4096, 'whole'],
    ] as const) {
      const [listed] = await database.search(1, search)
      await database.load(listed, text, { chunk, search })
    }
    const { rows } = await sql`
      select list, document_id, document::text as document, count(*) from document group by 1, 2, 3 order by 2`.execute(
      database.db,
    )
    expect(rows).toEqual([
      { list: 'things', document_id: 'b\t\\', document: '{"id": "b\\t\\\\"}', count: 3 },
      {
        list: 'things',
        document_id: 'å\n€',
        document: '{"v": [1.50, -0.001, true, {"𝄞": null}], "id": "å\\n€"}',
        count: 3,
      },
    ])
  })

  it('keeps every digit of a number, beyond what a double holds', async () => {
    await using database = await documentsDatabase()
    const [listed] = await database.search()
    const numbers = [
      '1.0',
      '0.10',
      '12345678901234567890.123456789',
      '1e400',
      '1E-3',
      '1.5e2',
      '-0.0',
      '100000000000000000001',
    ]
    await database.load(listed, page(`{"id":"a","numbers":[${numbers.join(',')}]}`))
    const kept = ['1.0', '0.10', '12345678901234567890.123456789', `1${'0'.repeat(400)}`, '0.001', '150', '0.0']
    expect(await database.documents()).toMatchObject([
      { document: `{"id": "a", "numbers": [${kept.join(', ')}, 100000000000000000001]}` },
    ])
  })

  it.each([
    ['number_too_long', '{"id":"a","n":1e1000}'],
    ['number_too_long', '{"id":"a","n":1e-1001}'],
    ['number_too_long', '{"id":"a","n":1e999999999999}'],
    ['number_too_long', `{"id":"a","n":${'9'.repeat(1001)}}`],
    ['nul_character', '{"id":"a","n":"x\\u0000y"}'],
    ['nul_character', '{"id":"a","x\\u0000y":1}'],
    ['lone_surrogate', '{"id":"a","n":["\\ud800"]}'],
    ['lone_surrogate', '{"id":"a","\\udc00":1}'],
    ['key_twice', '{"id":"a","n":{"x":1,"x":1}}'],
  ])('leaves an element out for %s, shows it in the quarantine, and keeps what stood here: %s', async (reason, bad) => {
    await using database = await documentsDatabase()
    await database.night({ things: [{ id: 'a', was: 'here' }, { id: 'b' }] })
    const before = await database.documents()
    const [listed] = await database.search()
    expect(await database.load(listed, page(bad, '{"id":"b"}'))).toMatchObject({
      quarantined: 1,
      unidentified: 0,
      unchanged: 1,
    })
    expect(await database.quarantine()).toMatchObject([{ item: 'things a', reason }])
    expect(await database.finish(listed)).toEqual({ documents: 0, withheld: false, reason: null })
    expect(await database.documents()).toEqual(before)
  })

  it('keeps the largest numbers that are kept at all', async () => {
    await using database = await documentsDatabase()
    const [listed] = await database.search()
    const counts = await database.load(listed, page('{"id":"a","n":[1e999,1e-999,-9.5e998]}'))
    expect(counts).toMatchObject({ documents: 1, quarantined: 0 })
  })

  it('does not take for an id what a doubled key holds', async () => {
    await using database = await documentsDatabase()
    const [listed] = await database.search()
    const counts = await database.load(listed, page('{"id":"a","id":"b"}'))
    expect(counts).toMatchObject({ quarantined: 1, unidentified: 1 })
    expect(await database.quarantine()).toMatchObject([{ item: 'things[0]', reason: 'key_twice' }])
  })

  it('tells elements without a usable id apart by their content', async () => {
    await using database = await documentsDatabase()
    const [listed] = await database.search()
    const long = 'x'.repeat(201)
    const things = [
      '{"id":null}',
      '{"id":""}',
      '{}',
      `{"id":"${long}"}`,
      '{"id":{"a":1}}',
      '{"id":"sha256:0"}',
      '{ }',
      '{"id":5}',
    ]
    expect(await database.load(listed, page(...things))).toMatchObject({ documents: 8, added: 7, quarantined: 0 })
    const ids = (await database.documents()).map(({ document_id }) => document_id)
    expect(ids.filter((id) => !id.startsWith('sha256:'))).toEqual(['5'])
  })

  it('joins the parts of an id so that no two ids become one', async () => {
    await using database = await documentsDatabase()
    const [listed] = await database.search()
    const things = ['{"a":"x/y","b":"z"}', '{"a":"x","b":"y/z"}', '{"a":"x~1y","b":"z"}', '{"a":"x"}']
    await database.load(listed, page(...things), { ids: { things: ['a', 'b'] } })
    const ids = (await database.documents()).map(({ document_id }) => document_id)
    expect(ids.slice(1)).toEqual(['x/y~1z', 'x~01y/z', 'x~1y/z'])
    expect(ids[0]).toMatch(/^sha256:/)
  })

  it('a page with one element twice keeps one, and the first of two with one id that differ', async () => {
    await using database = await documentsDatabase()
    const [listed] = await database.search()
    const counts = await database.load(
      listed,
      page('{"id":"a","n":1}', '{"n":1,"id":"a"}', '{"id":"a","n":2}', '{"id":"b"}'),
    )
    expect(counts).toMatchObject({ documents: 3, added: 2, quarantined: 1, unidentified: 0 })
    expect(await database.documents()).toMatchObject([{ document: '{"n": 1, "id": "a"}' }, { document_id: 'b' }])
    expect(await database.quarantine()).toEqual([
      { item: 'things a', reason: 'document_twice', excerpt: '{"n": 2, "id": "a"}' },
    ])
  })

  it.each([
    ['in order', [0, 1, 2]],
    ['backwards', [2, 1, 0]],
    ['the middle one last', [2, 0, 1]],
  ])(
    'an element whose id is on several pages keeps the first page, and is counted there alone, loaded %s',
    async (_order, order) => {
      await using database = await documentsDatabase()
      const pages = await database.search(3)
      const texts = [page('{"id":"a","n":1}'), page('{"id":"a","n":2}'), page('{"id":"a","n":3}', '{"id":"b"}')]
      for (const index of order) await database.load(pages[index], texts[index] ?? '')
      expect(await database.documents()).toMatchObject([{ document: '{"n": 1, "id": "a"}' }, { document_id: 'b' }])
      const { rows } = await sql`
      select p.ordinal, p.documents, p.added, p.changed, p.quarantined, q.item, q.reason, q.excerpt
      from search_page p left join quarantine q using (page_id) order by 1`.execute(database.db)
      const left = { changed: 0, quarantined: 1, item: 'things a', reason: 'document_twice' }
      expect(rows).toEqual([
        { ordinal: 0, documents: 1, added: 1, changed: 0, quarantined: 0, item: null, reason: null, excerpt: null },
        { ordinal: 1, documents: 0, added: 0, ...left, excerpt: '{"n": 2, "id": "a"}' },
        { ordinal: 2, documents: 1, added: 1, ...left, excerpt: '{"n": 3, "id": "a"}' },
      ])
    },
  )

  it('writes no document that stands as it is, whatever the order of its keys', async () => {
    await using database = await documentsDatabase()
    const things = Array.from({ length: 500 }, (_, index) => `{"id":"${index}","a":1,"b":[1.0]}`)
    const [first] = await database.search()
    await database.load(first, page(...things))
    const before = await sql`select xmin::text, document_key, changed_at from document order by 2`.execute(database.db)
    const [second] = await database.search()
    const reordered = things.map((thing) => thing.replace('"a":1,"b":[1.0]', '"b": [1.0], "a": 1'))
    expect(await database.load(second, page(...reordered))).toMatchObject({ unchanged: 500, added: 0, changed: 0 })
    const after = await sql`select xmin::text, document_key, changed_at from document order by 2`.execute(database.db)
    expect(after.rows).toEqual(before.rows)
  })

  it('counts 1.0 and 1.00 as different, for the service wrote them so', async () => {
    await using database = await documentsDatabase()
    const [first] = await database.search()
    await database.load(first, page('{"id":"a","n":1.0}'))
    const [second] = await database.search()
    expect(await database.load(second, page('{"id":"a","n":1.00}'))).toMatchObject({ changed: 1 })
    expect(await database.documents()).toMatchObject([{ document: '{"n": 1.00, "id": "a"}' }])
  })

  it('a page kept as documents that is loaded already is left alone', async () => {
    await using database = await documentsDatabase()
    const [listed] = await database.search()
    await database.load(listed, page('{"id":"a"}'))
    expect(await database.load(listed, 'no JSON at all')).toBeNull()
    expect(await database.documents()).toHaveLength(1)
  })

  it.each<[string, string | Uint8Array]>([
    ['is empty', ''],
    ['has no list', '{}'],
    ['has only an object', '{"things":{}}'],
    ['is a list itself', '[{"id":"z"}]'],
    ['is cut short', '{"things":[{"id":"z"},'],
    ['goes on after its end', '{"things":[{"id":"z"}]} {}'],
    ['has a list twice', '{"things":[{"id":"z"}],"things":[]}'],
    ['has a list and something else under one name', '{"more":1,"more":[{"id":"z"}]}'],
    ['has null for a list that has ids', '{"things":null,"more":[1]}'],
    ['has an object for a list that has ids', '{"more":[1],"things":{}}'],
    ['has a text for a list that has ids', '{"things":"things","more":[1]}'],
    ['has a number for a list that has ids', '{"more":[1],"things":7}'],
    [
      'is no UTF-8',
      Buffer.concat([Buffer.from('{"things":[{"id":"z","n":"'), Buffer.from([0xff]), Buffer.from('"}]}')]),
    ],
    ['is nested too deep', `{"things":[{"id":"z","n":${'['.repeat(70)}${']'.repeat(70)}}]}`],
    ['holds an element beyond its limit', `{"things":[{"id":"z","n":"${'x'.repeat(20_000)}"}]}`],
    [
      'holds numbers that would be beyond it once written out',
      `{"things":[{"id":"z","n":[${Array(30).fill('1e999').join(',')}]}]}`,
    ],
    ['names a list with a NUL', '{"a\\u0000":[1]}'],
    ['names a list at great length', `{"${'x'.repeat(300)}":[1]}`],
  ])('a page kept as documents that %s is refused whole, and the tables are as they were', async (_what, text) => {
    await using database = await documentsDatabase()
    await database.night({ things: [{ id: 'a' }] })
    const before = await database.documents()
    const [listed] = await database.search()
    await expect(database.load(listed, text, { limits: { maxElementSize: 20_000 } })).rejects.toMatchObject({
      code: 'page_malformed',
    })
    expect(await database.documents()).toEqual(before)
    const { rows } = await sql`select from search_seen_document`.execute(database.db)
    expect(rows).toEqual([])
  })

  it('keeps an odd name, a large page and a long list whole', async () => {
    await using database = await documentsDatabase()
    const [listed] = await database.search()
    const things = Array.from(
      { length: 20_000 },
      (_, index) => `{"id":"${index}","__proto__":{"x":"${'y'.repeat(200)}"}}`,
    )
    expect(await database.load(listed, page(...things), { chunk: 65_536 })).toMatchObject({ added: 20_000 })
    const { rows } = await sql`
      select count(*) from documents where document -> '__proto__' ->> 'x' = ${'y'.repeat(200)}`.execute(database.db)
    expect(rows).toEqual([{ count: 20_000 }])
  })
})

describe('a list that a page lacks', () => {
  it('comes into the quarantine where documents of it stand, without a look at each of them', async () => {
    await using database = await documentsDatabase()
    const insert = (search: string, list: string, count: number, removedAt: Date | null = null) =>
      sql`
        insert into document (search, list, document_id, content_hash, document, removed_at)
        select ${search}, ${list}, id, '', 'null', ${removedAt}
        from generate_series(1, ${count}::integer) id`.execute(database.db)
    for (const list of ['B', 'things', 'zz']) await insert('things', list, 2_000)
    for (const list of ['a', 'Z']) await insert('things', list, 10, new Date())
    await insert('things', 'ä', 1)
    for (const list of ['b', 'B']) await insert('other', list, 2_000)
    await sql`analyze document`.execute(database.db)
    const [listed] = await database.search()
    let read = Number.NaN
    await database.load(listed, '{"things":[]}', {
      atEnd: async (trx) => {
        const { rows } = await sql<{ read: string }>`
          select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as read
          from pg_stat_xact_user_tables where relid = 'document'::regclass`.execute(trx)
        read = Number(rows[0]?.read)
      },
    })
    expect(new Set((await database.quarantine()).map(({ item }) => item))).toEqual(new Set(['B', 'zz', 'ä']))
    expect(read).toBeLessThan(100)
  })
})
