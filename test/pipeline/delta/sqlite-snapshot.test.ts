import { mkdtemp, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PartnerSnapshot } from '../../../src/partner/dialect.ts'
import { openPartnerSnapshot } from '../../../src/partner/partner-snapshot.ts'
import { openSqliteFile } from '../../../src/partner/sqlite-file.ts'

let folder: string
let database: DatabaseSync
let url: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nightferry-sqlite-'))
  const path = join(folder, 'hotels.db')
  url = pathToFileURL(path).href
  database = new DatabaseSync(path)
  database.exec('create table anything (value, at)')
})
beforeEach(() => {
  database.exec('delete from anything')
})
afterAll(async () => {
  database.close()
  await rm(folder, { recursive: true, force: true })
})

const query = { stream: 'properties', query: 'select value, at from anything', columns: ['value'], fetchRows: 2 }
const delta = (from: string | null, overlapMs = 0) => ({ ...query, cursor: 'at', from, overlapMs })

async function withSnapshot<T>(work: (snapshot: PartnerSnapshot) => Promise<T>): Promise<T> {
  const snapshot = await openPartnerSnapshot({ url, statementTimeoutMs: 1_000, connectTimeoutMs: 100 })
  try {
    return await work(snapshot)
  } finally {
    await snapshot.close()
  }
}
const readLines = () =>
  withSnapshot(async (snapshot) => {
    for await (const bytes of snapshot.lines(query)) expect(bytes.length).toBeGreaterThan(0)
  })
const read = (from: string | null, overlapMs?: number) =>
  withSnapshot(async (snapshot) => {
    const rows = []
    for await (const batch of snapshot.delta(delta(from, overlapMs))) rows.push(...batch)
    return rows
  })

describe('a value of SQLite as text', () => {
  it.each([
    ['9007199254740993', '9007199254740993'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['1234567.8901234567', '1234567.8901234567'],
    ['0.1', '0.1'],
    ["x'00ff'", '\\x00ff'],
    ["''", ''],
    ['null', null],
  ])('%s is %s', async (literal, text) => {
    database.exec(`insert into anything values (${literal}, 1)`)
    expect(await read(null)).toEqual([[text, '1']])
  })

  it('a value of SQLite as text is refused when it holds a NUL, and the stream and column are named', async () => {
    database.exec(`insert into anything values ('a' || char(0) || 'b', 1)`)
    await expect(read(null)).rejects.toMatchObject({
      code: 'partner_query_failed',
      message: expect.stringMatching(/stream properties .*NUL character in value/),
    })
  })

  it.each([
    ['rows', () => read(null)],
    ['lines', readLines],
  ])(
    'a text whose bytes are no characters is refused when it is read as %s, and the character in its place is not',
    async (_, reading) => {
      database.exec(`insert into anything values ('meant: \uFFFD', 1)`)
      await reading()
      database.exec(`insert into anything values (cast(x'436166e9' as text), 2)`)
      await expect(reading()).rejects.toMatchObject({
        code: 'partner_query_failed',
        message: expect.stringMatching(/stream properties .*broken characters in value: its bytes are no UTF-8/),
      })
    },
  )
})

it.each([
  ['half a pair before another character', '410000d84200', true],
  ['half a pair at its end', '410000d8', true],
  ['a whole pair', '41003dd8a9de', false],
])('a text of a UTF-16 file that holds %s is refused, or not', async (_, bytes, refused) => {
  const path = join(folder, `${bytes}.db`)
  using file = new DatabaseSync(path)
  file.exec(`pragma encoding = 'UTF-16le'; create table anything (value, at)`)
  file.exec(`insert into anything values (cast(x'${bytes}' as text), 1)`)
  const snapshot = await openPartnerSnapshot({
    url: pathToFileURL(path).href,
    statementTimeoutMs: 1_000,
    connectTimeoutMs: 100,
  })
  const reading = async () => {
    for await (const batch of snapshot.delta(delta(null))) expect(batch).toHaveLength(1)
  }
  if (refused) await expect(reading()).rejects.toThrow(/broken characters in value: its bytes are no UTF-16le/)
  else await reading()
  await snapshot.close()
})

describe('a cursor of SQLite', () => {
  it.each([
    ['2026-01-01T00:00:00Z', '2026-01-01 06:00:00'],
    ['2026-01-01 06:00:00', '2026-01-01T05:00:00+00:00'],
  ])('finds a time that is written differently: past %s, %s', async (watermark, at) => {
    database.exec(`insert into anything values ('row', '${at}'), ('old', '2025-01-01')`)
    expect((await read(watermark, 7_200_000)).map(([value]) => value)).toEqual(['row'])
  })

  it('a cursor of SQLite is refused when its values have no common order', async () => {
    database.exec(`insert into anything values ('a', 1), ('b', '2026-01-01')`)
    await expect(read(null)).rejects.toMatchObject({
      code: 'partner_query_failed',
      message: expect.stringContaining('holds integer and text values, which have no common order'),
    })
  })

  it.each([
    [`'2026-01-01'`, 'overlap'],
    [`'2026-01-01T10:00:00.5Z'`, 'overlap'],
    [`'v17'`, 'none'],
    ['17', 'none'],
    [`'17'`, 'none'],
  ])('%s protects from late commits by: %s', async (literal, protection) => {
    database.exec(`insert into anything values ('a', ${literal})`)
    expect(await withSnapshot((snapshot) => snapshot.check({ ...query, cursor: 'at' }))).toBe(protection)
  })

  it('a cursor of SQLite of another type than the watermark reads everything', async () => {
    database.exec(`insert into anything values ('a', 1), ('b', 2)`)
    expect(await read('2026-01-01')).toHaveLength(2)
  })
})

it('names the file that is not there', async () => {
  const missing = pathToFileURL(join(folder, 'nothing.db')).href
  await expect(openPartnerSnapshot({ url: missing, statementTimeoutMs: 0 })).rejects.toMatchObject({
    code: 'partner_unreachable',
    message: expect.stringContaining('nothing.db'),
  })
})

it('batches of a file hold few rows where these are long, and lose none', async () => {
  const [rows, length] = [40, 100_000]
  database.exec(`with recursive n(n) as (select 1 union all select n + 1 from n where n < ${rows})
                 insert into anything select printf('%${length}d', n), n from n`)
  await withSnapshot(async (snapshot) => {
    const read = []
    for await (const batch of snapshot.delta({ ...delta(null), fetchRows: 5_000 })) {
      expect(batch.length).toBeLessThanOrEqual(11)
      read.push(...batch.map(([, at]) => at))
    }
    expect(read).toEqual(Array.from({ length: rows }, (_, at) => `${at + 1}`))
    let lines = 0
    for await (const bytes of snapshot.lines({ ...query, fetchRows: 5_000 })) {
      expect(bytes.length).toBeLessThan(12 * length)
      lines += bytes.toString().split('\n').length - 1
    }
    expect(lines).toBe(rows)
  })
})

describe('a query that yields two columns of one name', () => {
  const checked = (text: string) =>
    withSnapshot((snapshot) => snapshot.check({ ...query, query: text, columns: ['value'], cursor: 'at' }))

  it.each([
    ['the cursor', 'select a.value, a.at, b.at from anything a, anything b', 'at'],
    ['a column', 'select *, 2 as value from anything', 'value'],
    ['the cursor in another case', 'select value, at, at as "AT" from anything', 'at'],
    ['a column, in capitals first,', 'select value as "VALUE", value, at from anything', 'value'],
    ['the cursor, in capitals first,', 'select value, at as "AT", at as "At", at from anything', 'at'],
    ['the cursor of a query within', 'with b as (select *, at from anything) select * from b', 'at'],
  ])('a query that yields %s twice is refused', async (_, text, name) => {
    await expect(checked(text)).rejects.toMatchObject({
      code: 'partner_query_failed',
      message: `The query of the stream properties yields ${name} more than once, and nobody can tell which is meant. Fix streams.properties.query.`,
    })
  })

  it('a query that yields a column in capitals alone, or under a number, does not yield it', async () => {
    const refused = async (text: string, yielded: string) => {
      await expect(checked(text)).rejects.toThrow(`does not yield at; it yields ${yielded}.`)
    }
    await refused('select value, at as "AT" from anything', 'value, AT')
    await refused('select value, at as "at:1", at as "at:2" from anything', 'value, at:1, at:2')
  })

  it('a query may yield twice what its stream does not read', async () => {
    database.exec(`insert into anything values ('a', '2026-01-01')`)
    expect(await checked('select *, 1 as more, 2 as more, 3 as "at:day" from anything')).toBe('overlap')
  })
})

it('a file that another is copied over while it is read says that the database broke off, and not the query', async () => {
  const path = join(folder, 'copied-over.db')
  using file = new DatabaseSync(path)
  file.exec('create table anything (value, at)')
  file.exec(`
    insert into anything
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) select hex(zeroblob(2000)), i from n`)
  const snapshot = await openPartnerSnapshot({ url: pathToFileURL(path).href, statementTimeoutMs: 1_000 })
  await truncate(path, 40_960)
  const reading = async () => {
    for await (const _rows of snapshot.lines(query));
  }
  await expect(reading()).rejects.toMatchObject({ code: 'partner_unreachable' })
  await snapshot.close()
})

it('a snapshot cannot write to the file', async () => {
  await withSnapshot(async (snapshot) => {
    const writing = { ...query, query: 'delete from anything returning value, at' }
    await expect(snapshot.check({ ...writing, cursor: null })).rejects.toMatchObject({ code: 'partner_query_failed' })
  })
})

it('a snapshot cannot be written to once it is opened, whatever the statement', () => {
  const opened = openSqliteFile({ url, statementTimeoutMs: 60_000 })
  try {
    for (const statement of [`insert into anything values ('x', 1)`, 'delete from anything', 'create table more (x)']) {
      expect(() => opened.database.exec(statement), statement).toThrow(/readonly|read-only/)
    }
  } finally {
    opened.database.close()
  }
})
