import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { valuesOf } from '../../src/db/copy-text.ts'
import type { PartnerSnapshot } from '../../src/partner/dialect.ts'
import { openPartnerSnapshot } from '../../src/partner/partner-snapshot.ts'
import { some } from '../helpers/some.ts'
import { extractNow } from '../pipeline/delta/partner.ts'
import { hotelsQuery } from '../pipeline/delta/partners.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'
import { type MariadbPartner, openMariadbPartner } from './mariadb-partner.ts'

/** Type of the column, the value as it is inserted, and the text that has to arrive. */
const values: [type: string, inserted: string, text: string | null][] = [
  ['tinyint(1)', 'true', '1'],
  ['tinyint', '-128', '-128'],
  ['smallint unsigned', '65535', '65535'],
  ['mediumint(8) zerofill', '42', '00000042'],
  ['int', '-2147483648', '-2147483648'],
  ['bigint', '-9223372036854775808', '-9223372036854775808'],
  ['bigint unsigned', '18446744073709551615', '18446744073709551615'],
  [
    'decimal(65,30)',
    '12345678901234567890123456789012345.000000000000000000000000000001',
    '12345678901234567890123456789012345.000000000000000000000000000001',
  ],
  ['decimal(10,2)', '1.5', '1.50'],
  ['double', '0.1', '0.1'],
  ['double', '1234567.8901234567', '1234567.8901234567'],
  ['double', '1.7976931348623157e308', '1.7976931348623157e308'],
  ['double(10,2)', '1.005', '1.00'],
  ['float', '60.16988', '60.1699'],
  ['bit(1)', `b'1'`, '1'],
  ['bit(64)', `b'${'1'.repeat(64)}'`, '18446744073709551615'],
  ['year', '2026', '2026'],
  ['date', `'2026-11-21'`, '2026-11-21'],
  ['datetime', `'2026-11-21 23:59:59'`, '2026-11-21 23:59:59'],
  ['datetime(6)', `'2026-11-21 23:59:59.000001'`, '2026-11-21 23:59:59.000001'],
  ['timestamp(6) null', `timestamp '2026-11-21 23:59:59.999999'`, '2026-11-21 23:59:59.999999'],
  ['time(6)', `'-838:59:59.000001'`, '-838:59:59.000001'],
  ['char(10)', `'ab'`, 'ab'],
  ['varchar(100)', `'ホテル 🏨 null'`, 'ホテル 🏨 null'],
  ['varchar(100) character set latin1', `'Bärenhöhle €'`, 'Bärenhöhle €'],
  ['varchar(100)', `'\\\\N\\t\\r\\n'`, '\\N\t\r\n'],
  ['longtext', `repeat('é', 100000)`, 'é'.repeat(100_000)],
  ['varchar(10)', `''`, ''],
  ['varchar(10)', 'null', null],
  ['binary(4)', `x'00ff'`, '\\x00ff0000'],
  ['varbinary(100)', `x'5c785c'`, '\\x5c785c'],
  ['longblob', `x'e9'`, '\\xe9'],
  ['json', `'{"a": 1.10, "ключ": "é🏨", "a": 2}'`, '{"a": 1.10, "ключ": "é🏨", "a": 2}'],
  [`enum('small', 'größer')`, `'größer'`, 'größer'],
  [`set('a', 'b', 'c')`, `'c,a'`, 'a,c'],
  ['uuid', `'AC348B3C-d73c-81dc-b3b0-34d994fa3e79'`, 'ac348b3c-d73c-81dc-b3b0-34d994fa3e79'],
  ['inet6', `'2001:DB8::1'`, '2001:db8::1'],
  ['point', `point(1, 2)`, '\\x000000000101000000000000000000f03f0000000000000040'],
]
const names = values.map((_, index) => `v${index}`)
const everything = { stream: 'properties', query: 'select * from anything', columns: names, fetchRows: 3 }

let partner: MariadbPartner
let ferry: Ferry
beforeAll(async () => {
  ferry = await openFerry()
  partner = await openMariadbPartner(`
    set time_zone = '+00:00';
    create table anything (${values.map(([type], index) => `v${index} ${type}`).join(', ')});
    insert into anything values (${values.map(([, inserted]) => inserted).join(', ')});
    create table cursors (name varchar(10), at varchar(100))`)
})
beforeEach(() => ferry.clear())
afterAll(async () => {
  await partner.close()
  await ferry.close()
})

async function withSnapshot<T>(work: (snapshot: PartnerSnapshot) => Promise<T>): Promise<T> {
  const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 10_000 })
  try {
    return await work(snapshot)
  } finally {
    await snapshot.close()
  }
}

describe('a value of MariaDB', () => {
  let byCursor: (string | null)[]
  let bytes: Buffer[]
  beforeAll(async () => {
    byCursor = await withSnapshot(async (snapshot) => {
      const rows = []
      for await (const batch of snapshot.delta({ ...everything, cursor: 'v4', from: null, overlapMs: 0 }))
        rows.push(...batch)
      return rows[0] ?? []
    })
    bytes = await Promise.all([0, 1].map(() => withSnapshot((snapshot) => read(snapshot.lines(everything)))))
  })

  it.each(values.map(([type, inserted, text], index) => [type, inserted.slice(0, 80), index, text] as const))(
    '%s, inserted as %s, arrives as the server prints it (%i)',
    (_type, _inserted, index, text) => {
      expect(byCursor[index]).toBe(text)
      expect(valuesOf(String(bytes[0]).slice(0, -1))[index]).toBe(text)
    },
  )

  it('a value of MariaDB is the same bytes in every snapshot', () => {
    expect(bytes[0]).toEqual(bytes[1])
  })

  it('lands in the ledger byte for byte, by cursor and by snapshot', async () => {
    const cases = values.flatMap(([, , text], index) =>
      text === null ? [] : [{ id: `v${index}`, text, column: `v${index}` }],
    )
    const query = cases.map(
      ({ id, column }) =>
        `select '${id}' as partner_id, ${column} as name, null as street, null as latitude, null as longitude,
                  null as country_code, null as airport_code, null as hotel_code, null as booking_id,
                  timestamp '2026-01-01 00:00:00' as at from anything`,
    )
    for (const capture of ['cursor', 'snapshot'] as const) {
      // One value at a time: a union would bring all to one type.
      for (const [index, { id, text }] of some(cases.entries())) {
        await ferry.clear()
        await extractNow(ferry, partner, { properties: { query: query[index] ?? '', capture } })
        const { rows } = await ferry.ledger.pool.query<{ name: string }>(
          `select content ->> 'name' as name from source_row where partner_id = $1`,
          [id],
        )
        expect([id, rows[0]?.name]).toEqual([id, text])
      }
    }
  })

  it('a value of MariaDB is refused when it holds a NUL, and the stream and column are named', async () => {
    const query = { stream: 'properties', query: `select 'a\\0b' as name`, columns: ['name'], fetchRows: 1 }
    await expect(withSnapshot((snapshot) => read(snapshot.lines(query)))).rejects.toMatchObject({
      code: 'partner_query_failed',
      message: expect.stringMatching(/stream properties .*NUL character in name/),
    })
  })

  it('a query of MariaDB that contains question marks and quotes yields what stands there', async () => {
    const query = {
      stream: 'properties',
      query: `select '?' as name, "it's ? \`?\`" as at -- why?`,
      columns: ['name'],
      fetchRows: 1,
    }
    const rows = await withSnapshot(async (snapshot) => {
      const all = []
      for await (const batch of snapshot.delta({ ...query, cursor: 'at', from: 'a?', overlapMs: 0 })) all.push(...batch)
      return all
    })
    expect(rows).toEqual([['?', "it's ? `?`"]])
  })
})

describe('a cursor of MariaDB', () => {
  it('a time without a zone that lies ahead does not carry the watermark past clocks that stand further west', async () => {
    await partner.run('create or replace table hotel (code varchar(10), name text, at datetime(6), number bigint)')
    const codes = ['H-1', 'H-2', 'H-3', 'H-4']
    for (const code of codes) {
      const at = code === 'H-2' ? `'2099-01-01'` : 'utc_timestamp(6) - interval 8 hour'
      await partner.run(`insert into hotel values ('${code}', '${code}', ${at}, 1)`)
      if (code !== 'H-1') await extractNow(ferry, partner, { properties: { query: hotelsQuery } })
    }
    const landed = await ferry.ledger.db.selectFrom('ledger').select('partner_id').orderBy('partner_id').execute()
    expect(landed.map(({ partner_id }) => partner_id)).toEqual(codes)
  })

  it.each(['timestamp', 'datetime', 'timestamp(3)', 'datetime(6)', 'date'])(
    'a cursor of MariaDB that lies ahead has the form of one that carries the watermark: %s',
    async (type) => {
      const client = await partner.connect()
      await client.query(`
        create or replace table ahead (name varchar(10), at ${type});
        insert into ahead values ('past', '2026-01-01 10:00:00'), ('ahead', '2037-01-01 10:00:00')`)
      await client.end()
      const query = {
        stream: 'properties',
        query: 'select * from ahead',
        columns: ['name'],
        cursor: 'at',
        fetchRows: 3,
      }
      const rows = await withSnapshot(async (snapshot) => {
        const all = []
        for await (const batch of snapshot.delta({ ...query, from: null, overlapMs: 0 })) all.push(...batch)
        return all
      })
      const [past, ahead] = rows
      const form = (text: string | null | undefined) => text?.replaceAll(/\d/g, '0')
      expect(past).toEqual(['past', past?.[1], null])
      expect(ahead?.[2]).toMatch(/^2037-01-01/)
      expect(form(ahead?.[2])).toBe(form(past?.[1]))
    },
  )

  it.each([
    ['bigint unsigned', ['18446744073709551613', '18446744073709551614', '18446744073709551615'], 'none'],
    [
      'decimal(40,20)',
      [
        '12345678901234567890.00000000000000000001',
        '12345678901234567890.00000000000000000002',
        '12345678901234567890.00000000000000000003',
      ],
      'none',
    ],
    ['double', ['0.1', '0.30000000000000004', '1e300'], 'none'],
    ['float', ['16777214.5', '16777215', '16777216'], 'none'],
    ['float', ['60.169876', '60.16988', '60.169884'], 'none'],
    ['bit(64)', ['1', `9223372036854775808`, '18446744073709551615'], 'none'],
    ['date', ["'2026-01-01'", "'2026-01-02'", "'2026-01-03'"], 'transactions'],
    [
      'datetime(6)',
      ["'2026-01-01 00:00:00.000001'", "'2026-01-01 00:00:00.000002'", "'2026-01-01 00:00:00.000003'"],
      'transactions',
    ],
    [
      'timestamp(6) null',
      ["'2026-01-01 00:00:00.000001'", "'2026-01-01 00:00:00.000002'", "'2026-01-01 00:00:00.000003'"],
      'transactions',
    ],
    ['time(6)', ["'-10:00:00.000001'", "'00:00:00'", "'00:00:00.000001'"], 'none'],
    ['varchar(20) collate utf8mb4_swedish_ci', ["'v1'", "'V2'", "'ö'"], 'none'],
    ['varchar(20) character set latin1 collate latin1_general_cs', ["'a'", "'ä'", "'it''s'"], 'none'],
    [`enum('z', 'm', 'a')`, ["'a'", "'m'", "'z'"], 'none'],
    ['varbinary(8)', ["x'00'", "x'27'", "x'ff'"], 'none'],
    [
      'uuid',
      [
        "'00000000-0000-4000-8000-000000000001'",
        "'00000000-0000-4000-8000-000000000002'",
        "'00000000-0000-4000-8000-000000000003'",
      ],
      'none',
    ],
  ])(
    '%s %j is read on exactly from where it stood, equal values and nulls again (%s)',
    async (type, literals, protection) => {
      await partner.run(`create or replace table cursors (name varchar(10), at ${type})`)
      const [low = '', middle = '', high = ''] = literals
      await partner.run(
        `insert into cursors values ('high', ${high}), ('null', null), ('middle', ${middle}), ('low', ${low}), ('same', ${middle})`,
      )
      const query = { stream: 'properties', query: 'select * from cursors', columns: ['name'], fetchRows: 2 }
      const from = (watermark: string | null) =>
        withSnapshot(async (snapshot) => {
          expect(await snapshot.check({ ...query, cursor: 'at' })).toBe(protection)
          const rows = []
          for await (const batch of snapshot.delta({ ...query, cursor: 'at', from: watermark, overlapMs: 0 })) {
            expect(batch.length).toBeLessThanOrEqual(2)
            rows.push(...batch)
          }
          return rows
        })
      const namesOf = (rows: (string | null)[][]) => rows.map(([name]) => name ?? '')
      const all = await from(null)
      expect(namesOf(all)).toEqual([
        'null',
        'low',
        expect.stringMatching(/middle|same/),
        expect.stringMatching(/middle|same/),
        'high',
      ])
      const watermarks = all.map(([, at]) => at ?? null)
      expect(namesOf(await from(watermarks[1] ?? null))).toEqual(namesOf(all))
      expect(new Set(namesOf(await from(watermarks[2] ?? null)))).toEqual(new Set(['high', 'middle', 'null', 'same']))
      expect(namesOf(await from(watermarks[4] ?? null))).toEqual(['null', 'high'])
    },
  )

  it('a cursor of MariaDB whose watermark is of another type reads everything', async () => {
    await partner.run(`create or replace table cursors (name varchar(10), at datetime)`)
    await partner.run(`insert into cursors values ('row', '2020-01-01')`)
    const query = { stream: 'properties', query: 'select * from cursors', columns: ['name'], fetchRows: 2 }
    await withSnapshot(async (snapshot) => {
      const rows = []
      for await (const batch of snapshot.delta({ ...query, cursor: 'at', from: 'v17', overlapMs: 0 }))
        rows.push(...batch)
      expect(rows).toHaveLength(1)
    })
  })
})

async function read(lines: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks = []
  for await (const chunk of lines) chunks.push(chunk)
  return Buffer.concat(chunks)
}
