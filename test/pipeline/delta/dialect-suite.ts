import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { PartnerSnapshot } from '../../../src/partner/dialect.ts'
import { openPartnerSnapshot } from '../../../src/partner/partner-snapshot.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { extractNow, type Streams } from './partner.ts'
import { type DialectPartner, hotelsQuery, readingsQuery } from './partners.ts'

const fieldA = ids.field
const fieldB = ids.otherField

/** What holds for a partner's database of any dialect. */
export function describeDialect(open: () => Promise<DialectPartner>): void {
  let ferry: Ferry
  let partner: DialectPartner
  beforeAll(async () => {
    ferry = await openFerry()
    partner = await open()
  })
  beforeEach(async () => {
    await ferry.clear()
    await partner.clear()
  })
  afterAll(async () => {
    await partner.close()
    await ferry.close()
  })

  const extractAll = (streams: Streams, settings: Parameters<typeof extractNow>[3] = {}) =>
    extractNow(ferry, partner, streams, settings)
  const byCursor: Streams = { properties: { query: hotelsQuery, cursor: 'at' } }
  const bySnapshot: Streams = { properties: { query: hotelsQuery, capture: 'snapshot' } }
  const inputs: Streams = { calculator_inputs: { query: readingsQuery, capture: 'snapshot' } }
  const streamOf = (runId: number, stream = 'properties') =>
    ferry.ledger.db
      .selectFrom('run_stream')
      .selectAll()
      .where('run_id', '=', runId)
      .where('stream', '=', stream)
      .executeTakeFirstOrThrow()
  const ledger = async (stream = 'properties') =>
    (
      await ferry.ledger.db
        .selectFrom('ledger')
        .select(['partner_id', 'content', 'gone_at'])
        .where('stream', '=', stream)
        .orderBy('row_key')
        .execute()
    ).map(({ partner_id, content, gone_at }) => [partner_id, content, gone_at === null ? 'there' : 'gone'])
  const accept = () => ferry.ledger.pool.query('update acceptance set accepted_hash = wanted_hash, accepted_at = now()')
  const drift = async () =>
    (await ferry.ledger.pool.query('select stream, partner_id from drift order by 2')).rows as object[]

  it('a snapshot says what the clock of its server showed', async () => {
    const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 60_000 })
    const before = performance.timeOrigin + snapshot.clock.at
    await snapshot.close()
    // The server stands on this machine.
    expect(Math.abs(snapshot.clock.ms - before)).toBeLessThan(30_000)
  })

  it('a cursor stream is read from the watermark on, rows at it again', async () => {
    await partner.run(
      `insert into hotel values ('H-1', 'one', '2026-01-01 00:00:00', 1), ('H-2', 'two', '2026-01-02 00:00:00', 2)`,
    )
    expect(await streamOf(await extractAll(byCursor))).toMatchObject({ read: 2, changed: 2, capture: 'cursor' })
    await partner.run(`insert into hotel values ('H-3', 'three', '2026-01-02 00:00:00', 3)`)
    expect(await streamOf(await extractAll(byCursor))).toMatchObject({ read: 2, changed: 1, unchanged: 1 })
    expect(await ledger()).toEqual([
      ['H-1', { name: 'one' }, 'there'],
      ['H-2', { name: 'two' }, 'there'],
      ['H-3', { name: 'three' }, 'there'],
    ])
  })

  it('a cursor stream is read again as far before the watermark as the overlap says', async () => {
    await partner.run(`insert into hotel values ('H-1', 'one', '2026-01-02 00:00:00', 1)`)
    await extractAll(byCursor)
    await partner.run(`insert into hotel values ('late', 'late', '2026-01-01 22:30:00', 2)`)
    // Without a zone it is an hour more.
    expect((await streamOf(await extractAll(byCursor, { overlapMs: 1_799_000 }))).read).toBe(1)
    expect(await streamOf(await extractAll(byCursor, { overlapMs: 5_400_001 }))).toMatchObject({ read: 2, changed: 1 })
  })

  it('compares number cursors as numbers', async () => {
    const byNumber: Streams = { properties: { query: hotelsQuery, cursor: 'number' } }
    await partner.run(`insert into hotel values ('H-1', 'one', null, 9)`)
    expect(await streamOf(await extractAll(byNumber))).toMatchObject({ watermark_after: '9', protection: 'none' })
    await partner.run(`insert into hotel values ('H-2', 'two', null, 10), ('H-0', 'old', null, 8)`)
    expect(await streamOf(await extractAll(byNumber))).toMatchObject({ read: 2, changed: 1, watermark_after: '10' })
  })

  it('does not let a time that lies ahead carry the watermark past what changes until then', async () => {
    await partner.run(`insert into hotel values ('H-1', 'one', '2099-01-01 00:00:00', 1)`)
    const { watermark_after } = await streamOf(await extractAll(byCursor))
    expect(Date.parse(String(watermark_after))).toBeLessThanOrEqual(Date.now())
  })

  it('two rows with one key and times that may not carry the watermark yet do not contradict each other', async () => {
    // In the order of their keys the older one comes last.
    await partner.run(
      `insert into hotel values ('H-1', 'new', '9999-01-02 00:00:00', 1), ('H-1', 'old', '9999-01-01 00:00:00', 2)`,
    )
    for (const _ of ['the first reading', 'one from the watermark']) {
      await extractAll(byCursor)
      const { rows } = await ferry.ledger.pool.query(`select content ->> 'name' as name, contradiction from ledger`)
      expect(rows).toEqual([{ name: 'new', contradiction: null }])
    }
  })

  it('says by name which rows have no cursor, until they have one', async () => {
    await partner.run(`insert into hotel values ('H-1', 'one', null, 1), ('H-2', 'two', '2026-01-02 00:00:00', 2)`)
    const named = async () =>
      (await ferry.ledger.pool.query('select stream, partner_id from rows_without_cursor')).rows as object[]
    for (const _ of [1, 2]) {
      expect(await streamOf(await extractAll(byCursor))).toMatchObject({ null_cursor: 1 })
      expect(await named()).toEqual([{ stream: 'properties', partner_id: 'H-1' }])
    }
    await partner.run(`update hotel set at = '2026-01-03 00:00:00' where code = 'H-1'`)
    expect(await streamOf(await extractAll(byCursor))).toMatchObject({ null_cursor: 0 })
    expect(await named()).toEqual([])
  })

  it('keeps any characters as they are, by cursor and by snapshot', async () => {
    const names = [
      'a "quote", comma',
      'line\nbreak\r\nand\ttab',
      '\\.',
      'back\\slash \\N \\t',
      'ホテル 🏨',
      '\u0001\b\f\v\u007f',
      'null',
    ]
    for (const [index, name] of names.entries()) {
      await partner.run(`insert into hotel values ('H-${index}', ${partner.literal(name)}, '2026-01-01 00:00:00', 1)`)
    }
    for (const streams of [byCursor, bySnapshot]) {
      await ferry.clear()
      await extractAll(streams)
      expect((await ledger()).map(([, content]) => content)).toEqual(names.map((name) => ({ name })))
    }
  })

  it('a snapshot is one moment for every stream, whatever is committed meanwhile, and is not written to', async () => {
    await partner.run(`insert into hotel values ('H-1', 'before', '2026-01-01 00:00:00', 1)`)
    const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 10_000 })
    try {
      await partner.run(`update hotel set name = 'after'`)
      await partner.run(`insert into hotel values ('H-2', 'after', '2026-01-01 00:00:00', 2)`)
      expect(await linesOf(snapshot)).toEqual(['before\n'])
      expect(await snapshot.hasRows({ ...named, query: `select name from hotel where code = 'H-2'` })).toBe(false)
    } finally {
      await snapshot.close()
    }
  })

  it('names the columns that a query does not yield, and says what is wrong with one that is none', async () => {
    await expect(
      extractAll({ properties: { query: 'select code as partner_id from hotel', capture: 'snapshot' } }),
    ).rejects.toMatchObject({
      code: 'partner_query_failed',
      message: expect.stringContaining('does not yield name, street'),
    })
    await expect(extractAll({ properties: { query: 'select select', capture: 'snapshot' } })).rejects.toMatchObject({
      code: 'partner_query_failed',
      message: expect.stringMatching(/stream properties failed: .*syntax.*Fix streams\.properties\.query/s),
    })
  })

  it('read as a snapshot, finds what is new, changed, gone and there again, without a cursor', async () => {
    await partner.run(
      `insert into hotel values ('H-1', 'one', null, 1), ('H-2', 'two', null, 2), ('H-3', 'three', null, 3)`,
    )
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({
      read: 3,
      changed: 3,
      unchanged: 0,
      gone: 0,
      capture: 'snapshot',
    })
    await accept()
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({ read: 3, changed: 0, unchanged: 3, gone: 0 })

    await partner.run(`update hotel set name = 'changed' where code = 'H-1'`)
    await partner.run(`delete from hotel where code = 'H-2'`)
    await partner.run(`insert into hotel values ('H-4', 'four', null, 4)`)
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({ read: 3, changed: 2, unchanged: 1, gone: 1 })
    expect(await ledger()).toEqual([
      ['H-1', { name: 'changed' }, 'there'],
      ['H-2', { name: 'two' }, 'gone'],
      ['H-3', { name: 'three' }, 'there'],
      ['H-4', { name: 'four' }, 'there'],
    ])
    expect(await drift()).toEqual([{ stream: 'properties', partner_id: 'H-2' }])
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({ read: 3, changed: 0, gone: 0, returned: 0 })

    await partner.run(`insert into hotel values ('H-2', 'two', null, 2)`)
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({
      read: 4,
      changed: 0,
      unchanged: 4,
      returned: 1,
    })
    expect(await drift()).toEqual([])
    expect((await ledger()).map(([, , state]) => state)).toEqual(['there', 'there', 'there', 'there'])
  })

  it('read as a snapshot, does not list as drift what the service never had', async () => {
    await partner.run(`insert into hotel values ('H-1', 'one', null, 1), ('H-2', 'two', null, 2)`)
    await extractAll(bySnapshot)
    await partner.run(`delete from hotel where code = 'H-2'`)
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({ gone: 1 })
    expect(await drift()).toEqual([])
  })

  const inputsByCursor: Streams = { calculator_inputs: { query: readingsQuery, cursor: 'at' } }

  it.each([
    {
      how: 'the parts of a row lie apart',
      readings: [
        ['H-2', fieldA, 7, 2],
        ['H-1', fieldA, 5, 3],
        ['H-2', fieldB, 8, 2],
      ],
    },
    {
      how: 'an older row that says the same lies right behind',
      readings: [
        ['H-2', fieldA, 7, 2],
        ['H-2', fieldB, 8, 2],
        ['H-1', fieldA, 5, 3],
        ['H-1', fieldA, 1, 1],
      ],
    },
    {
      how: 'an older row that says the same lies far behind',
      readings: [
        ['H-1', fieldA, 5, 3],
        ['H-2', fieldA, 7, 2],
        ['H-2', fieldB, 8, 2],
        ['H-1', fieldA, 1, 1],
      ],
    },
  ])('a first reading keeps what the newest rows say if $how', async ({ readings }) => {
    const values = readings.map(
      ([code, field, value, day]) => `('${code}', 2025, 3, '${field}', ${value}, '2026-01-0${day} 00:00:00')`,
    )
    await partner.run(`insert into reading values ${values.join(', ')}`)
    const { read, watermark_after } = await streamOf(await extractAll(inputsByCursor), 'calculator_inputs')
    expect({ read, day: watermark_after?.slice(0, 10) }).toEqual({ read: readings.length, day: '2026-01-03' })
    const kept = (await ledger('calculator_inputs')).map(([id, content]) => [
      id,
      (content as { inputs: object }).inputs,
    ])
    expect(kept).toEqual([
      ['H-1', { [fieldA]: '5' }],
      ['H-2', { [fieldA]: '7', [fieldB]: '8' }],
    ])
    // The newest row is known: nothing is read whole again, and nothing has changed.
    expect(await streamOf(await extractAll(inputsByCursor, { overlapMs: 0 }), 'calculator_inputs')).toMatchObject({
      whole: null,
      read: 1,
      changed: 0,
    })
  })

  it('read as a snapshot, takes an input that is gone back, and the row when its last one is', async () => {
    const values = (rows: [string, number][]) =>
      rows.map(([field, value]) => `('H-1', 2025, 3, '${field}', ${value}, null)`).join(', ')
    const kept = async () =>
      (await ledger('calculator_inputs')).map(([, content, state]) => [(content as { inputs: object }).inputs, state])
    await partner.run(
      `insert into reading values ${values([
        [fieldA, 1.5],
        [fieldB, 2],
      ])}`,
    )
    expect(await streamOf(await extractAll(inputs), 'calculator_inputs')).toMatchObject({
      read: 2,
      folded: 1,
      changed: 1,
    })
    expect(await streamOf(await extractAll(inputs), 'calculator_inputs')).toMatchObject({
      read: 2,
      folded: 1,
      changed: 0,
      unchanged: 1,
    })
    expect(await kept()).toEqual([[{ [fieldA]: '1.5', [fieldB]: '2' }, 'there']])

    await accept()
    await partner.run(`delete from reading where field = '${fieldB}'`)
    expect(await streamOf(await extractAll(inputs), 'calculator_inputs')).toMatchObject({
      read: 1,
      folded: 0,
      changed: 1,
      gone: 0,
    })
    expect(await kept()).toEqual([[{ [fieldA]: '1.5', [fieldB]: null }, 'there']])
    await partner.run(`insert into reading values ${values([[fieldB, 7]])}`)
    await extractAll(inputs)
    expect(await kept()).toEqual([[{ [fieldA]: '1.5', [fieldB]: '7' }, 'there']])

    await partner.run('delete from reading')
    await extractAll({
      calculator_inputs: {
        query: `${readingsQuery} union all select 'H-9', 2025, 1, '${fieldA}', 1, null`,
        capture: 'snapshot',
      },
    })
    expect(await kept()).toEqual([
      [{ [fieldA]: '1.5', [fieldB]: '7' }, 'gone'],
      [{ [fieldA]: '1' }, 'there'],
    ])
  })

  it('read as a snapshot, notices that one of two equal rows is gone, and says how many share a row', async () => {
    await partner.run(
      `insert into hotel values ('H-1', 'one', null, 1), ('H-1', 'one', null, 1), ('H-1', 'two', null, 1)`,
    )
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({ read: 3, folded: 2, changed: 1 })
    const [first] = await ledger()
    for (const _ of [1, 2]) {
      expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({
        read: 3,
        folded: 2,
        changed: 0,
        unchanged: 1,
      })
    }
    const other = JSON.stringify(first?.[1]).includes('one') ? 'two' : 'one'
    await partner.run(`delete from hotel where name <> '${other}'`)
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({ read: 1, folded: 0, changed: 1, gone: 0 })
    expect(await ledger()).toEqual([['H-1', { name: other }, 'there']])
  })

  it('reads a first snapshot once more from its beginning where two of many rows have one key', async () => {
    const values = Array.from({ length: 30_000 }, (_, n) => `('H-${n}', '${'long name '.repeat(5)}', null, 1)`)
    for (let from = 0; from < values.length; from += 5_000) {
      await partner.run(`insert into hotel values ${values.slice(from, from + 5_000).join(', ')}`)
    }
    // In the order of the query these two are the first, and most is still to be read.
    await partner.run(`update hotel set name = 'the first' where code = 'H-0'`)
    await partner.run(`insert into hotel values ('H-0', 'the second', null, 1)`)
    const streams: Streams = {
      properties: { query: `select * from (${hotelsQuery}) hotels order by name desc`, capture: 'snapshot' },
      // Read from the same connection afterwards.
      calculator_settings: {
        query: `select code as partner_id, 'true' as automatic_yearly_calculation, 'false' as automatic_publishing from hotel where code = 'H-7'`,
        capture: 'snapshot',
      },
    }
    const run = await extractAll(streams)
    expect(await streamOf(run)).toMatchObject({ read: 30_001, folded: 1, changed: 30_000 })
    expect(await streamOf(run, 'calculator_settings')).toMatchObject({ read: 1, changed: 1 })
    expect(await streamOf(await extractAll(streams))).toMatchObject({ read: 30_001, folded: 1, changed: 0 })
  })

  it('changes from a cursor to snapshots and back without losing a change or a deletion', async () => {
    await partner.run(
      `insert into hotel values ('H-1', 'one', '2026-01-01 00:00:00', 1), ('H-2', 'two', '2026-01-01 00:00:00', 2), ('H-3', 'three', '2026-01-01 00:00:00', 3)`,
    )
    await extractAll(byCursor)
    await partner.run(`delete from hotel where code = 'H-3'`)
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({ read: 2, changed: 0, unchanged: 2, gone: 1 })
    await partner.run(`update hotel set name = 'by cursor' where code = 'H-1'`)
    expect(await streamOf(await extractAll(byCursor))).toMatchObject({ read: 2, changed: 1 })
    await partner.run(`update hotel set name = 'one' where code = 'H-1'`)
    expect(await streamOf(await extractAll(bySnapshot))).toMatchObject({ changed: 1, unchanged: 1 })
    expect((await ledger())[0]).toEqual(['H-1', { name: 'one' }, 'there'])
  })
}

const named = { stream: 'properties', query: 'select name from hotel', columns: ['name'], fetchRows: 100 }

async function linesOf(snapshot: PartnerSnapshot): Promise<string[]> {
  const lines: string[] = []
  for await (const chunk of snapshot.lines(named)) lines.push(chunk.toString())
  return lines
}
