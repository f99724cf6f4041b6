import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import type { PartnerSnapshot } from '../../src/partner/dialect.ts'
import { openPartnerSnapshot } from '../../src/partner/partner-snapshot.ts'
import { type MariadbPartner, openMariadbPartner, password } from './mariadb-partner.ts'
import { asRoot, startMariadb } from './mariadb-server.ts'

let partner: MariadbPartner
beforeAll(async () => {
  partner = await openMariadbPartner()
  await partner.run(`
    create table plain (name varchar(100)) engine = MyISAM;
    create function leave_a_mark() returns int begin insert into hotel (code) values ('mark'); return 1; end;
    create function leave_a_plain_mark() returns int begin insert into plain values ('mark'); return 1; end`)
  for (const url of [partner.url, partner.blindUrl]) {
    await partner.run(`grant all on \`${partner.database}\`.* to '${new URL(url).username}'@'127.0.0.1'`)
  }
})
beforeEach(async () => {
  await partner.clear()
  await partner.run(`insert into hotel select concat('H-', seq), 'before', null, seq from seq_1_to_500`)
})
afterAll(() => partner.close())

const hotels = {
  stream: 'properties',
  query: 'select code, name, number, at from hotel',
  columns: ['name'],
  fetchRows: 100,
}
const byNumber = { ...hotels, cursor: 'number', from: null, overlapMs: 0 }
/** More than fits into the buffers between the server and us. */
const manyRows = { ...byNumber, query: `select repeat('x', 1000) as name, seq as number from seq_1_to_50000` }

async function withSnapshot<T>(
  work: (snapshot: PartnerSnapshot) => Promise<T>,
  options: { url?: string; statementTimeoutMs?: number } = {},
): Promise<T> {
  const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 10_000, ...options })
  try {
    return await work(snapshot)
  } finally {
    await snapshot.close()
  }
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const batches = []
  for await (const batch of rows) batches.push(batch)
  return batches
}

const sessions = async () => {
  const [rows] = await partner.root.query<never[]>(
    `select id, info from information_schema.processlist where db = ? and user like 'reader%'`,
    [partner.database],
  )
  return rows as { id: number; info: string | null }[]
}

describe('a snapshot of MariaDB', () => {
  it('shows every stream the same moment, whatever is committed between them and while one is read', async () => {
    await withSnapshot(async (snapshot) => {
      const seen: (string | null | undefined)[] = []
      for await (const batch of snapshot.delta(byNumber)) {
        seen.push(...batch.map(([name]) => name))
        await partner.run(`update hotel set name = 'after'`)
      }
      await partner.run(`insert into hotel values ('new', 'after', null, 501)`)
      const lines = Buffer.concat(await all(snapshot.lines(hotels)))
      expect(new Set(seen)).toEqual(new Set(['before']))
      expect(String(lines)).toBe('before\n'.repeat(500))
    })
    await withSnapshot(async (snapshot) => {
      expect(String(Buffer.concat(await all(snapshot.lines(hotels))))).toBe('after\n'.repeat(501))
    })
  })

  it('hands the rows over in batches of the size asked for, in the order of the cursor', async () => {
    await withSnapshot(async (snapshot) => {
      const batches = await all(snapshot.delta(byNumber))
      expect(batches.map(({ length }) => length)).toEqual([100, 100, 100, 100, 100])
      expect(batches.flat().map(([, number]) => Number(number))).toEqual(
        Array.from({ length: 500 }, (_, index) => index + 1),
      )
    })
  })

  it('lets the server wait while nobody takes rows, and has few of them in memory', async () => {
    await withSnapshot(async (snapshot) => {
      const rows = snapshot.delta(manyRows)[Symbol.asyncIterator]()
      await rows.next()
      let waiting: unknown
      while (waiting === undefined) {
        const [list] = await partner.root.query<never[]>(
          `select state from information_schema.processlist where db = ? and state = 'Writing to net'`,
          [partner.database],
        )
        waiting = list[0]
      }
      let read = 100
      for (let next = await rows.next(); next.done !== true; next = await rows.next()) read += next.value.length
      expect(read).toBe(50_000)
    })
  })

  it('can be read on after a stream that was left in the middle', async () => {
    await withSnapshot(async (snapshot) => {
      for await (const _ of snapshot.delta(manyRows)) break
      for await (const _ of snapshot.lines(manyRows)) break
      expect((await all(snapshot.delta(byNumber))).flat()).toHaveLength(500)
    })
  })

  it('leaves no session behind, although its rows were not read to the end', async () => {
    await withSnapshot(async (snapshot) => {
      for await (const _ of snapshot.delta(manyRows)) break
      expect(await sessions()).toHaveLength(1)
    })
    await expect.poll(sessions, { timeout: 60_000 }).toEqual([])
  })

  it.each(['delta', 'lines'] as const)(
    'says that the database broke off when its session is killed: %s',
    async (way) => {
      await withSnapshot(async (snapshot) => {
        const rows = snapshot[way](manyRows)[Symbol.asyncIterator]()
        await rows.next()
        for (const { id } of await sessions()) await partner.root.query('kill connection ?', [id])
        const rest = (async () => {
          for (let next = await rows.next(); next.done !== true; next = await rows.next());
        })()
        await expect(rest).rejects.toMatchObject({ code: 'partner_unreachable' })
        await expect(snapshot.hasRows(hotels)).rejects.toMatchObject({ code: 'partner_unreachable' })
      })
    },
  )

  it('says that the database broke off when its server dies in the middle, and that it cannot be reached then', async () => {
    const server = await startMariadb()
    const url = `mysql://root@127.0.0.1:${server.port}/mysql`
    let stopped = false
    try {
      await withSnapshot(
        async (snapshot) => {
          const rows = snapshot.delta(manyRows)[Symbol.asyncIterator]()
          await rows.next()
          await server.stop()
          stopped = true
          const rest = (async () => {
            for (let next = await rows.next(); next.done !== true; next = await rows.next());
          })()
          await expect(rest).rejects.toMatchObject({
            code: 'partner_unreachable',
            message: expect.stringContaining('broke off while the stream properties was read'),
          })
        },
        { url },
      )
      await expect(openPartnerSnapshot({ url, statementTimeoutMs: 0 })).rejects.toMatchObject({
        code: 'partner_unreachable',
        message: expect.stringMatching(/127\.0\.0\.1:\d+\/mysql cannot be read: .*ECONNREFUSED/),
      })
    } finally {
      if (!stopped) await server.stop()
    }
  })

  it('takes a table that is newer than the snapshot for trouble of the server, and not for a mistake in the query', async () => {
    await withSnapshot(async (snapshot) => {
      await partner.run('truncate table hotel')
      await expect(all(snapshot.lines(hotels))).rejects.toMatchObject({
        code: 'partner_unreachable',
        message: expect.stringContaining('Table definition has changed'),
      })
    })
  })

  it('gives up a statement that takes longer than allowed, and none that does not', async () => {
    const slow = { ...byNumber, query: `select sleep(30) as name, 1 as number` }
    const wait = { ...byNumber, query: `select sleep(0.05) as name, 1 as number` }
    await withSnapshot(
      async (snapshot) => {
        expect((await all(snapshot.delta(wait))).flat()).toEqual([['0', '1']])
        await expect(all(snapshot.delta(slow))).rejects.toMatchObject({
          code: 'partner_query_too_slow',
          message: expect.stringMatching(/max_statement_time exceeded.*partner\.statementTimeoutMs/),
        })
      },
      { statementTimeoutMs: 1_500 },
    )
    await withSnapshot(
      async (snapshot) => {
        expect((await all(snapshot.delta(wait))).flat()).toEqual([['0', '1']])
      },
      { statementTimeoutMs: 0 },
    )
  })

  it.each([
    ['delete from hotel', 'syntax'],
    ['delete from hotel returning name', 'syntax'],
    [`select name from hotel into outfile '/tmp/nightferry'`, 'syntax|usage'],
    ['select leave_a_mark() as name', 'READ ONLY'],
    ['select leave_a_plain_mark() as name', 'READ ONLY'],
    ['select name from hotel) s; delete from hotel; select * from (select 1 as name', 'syntax'],
  ])('refuses a query that writes, by a role that may write: %s', async (query, reason) => {
    await withSnapshot(async (snapshot) => {
      await expect(all(snapshot.lines({ ...hotels, query }))).rejects.toMatchObject({
        code: 'partner_query_failed',
        message: expect.stringMatching(new RegExp(`stream properties failed: .*(${reason})`, 's')),
      })
    })
    const [rows] = await partner.root.query<never[]>(
      `select count(*) as hotels, (select count(*) from plain) as plain from hotel`,
    )
    expect(rows[0]).toEqual({ hotels: 500, plain: 0 })
  })

  it('says how well late commits are found: by transactions for a role that sees them, else by the overlap', async () => {
    const check = (url: string, cursor: string) =>
      withSnapshot((snapshot) => snapshot.check({ ...hotels, cursor }), { url })
    expect(await check(partner.url, 'at')).toBe('transactions')
    expect(await check(partner.blindUrl, 'at')).toBe('overlap')
    expect(await check(partner.url, 'number')).toBe('none')
  })

  it.each([
    ['datetime(6)', `now(6)`],
    ['timestamp(6) null', `now(6)`],
  ])(
    'does not let the watermark of a %s pass the start of a transaction that still writes, but that of a reader',
    async (type, now) => {
      await partner.run(`create or replace table cursors (name varchar(10), at ${type})`)
      const stream = { ...hotels, query: 'select * from cursors', cursor: 'at', from: null, overlapMs: 0 }
      const newest = () =>
        withSnapshot(async (snapshot) => {
          const rows = (await all(snapshot.delta(stream))).flat()
          return Date.parse(`${String(rows.at(-1)?.[1]).replace(' ', 'T')}Z`)
        })
      const clock = async () => {
        const [rows] = await partner.root.query<never[]>(`select cast(unix_timestamp(now(6)) * 1000 as char) as at`)
        return Number((rows[0] as unknown as { at: string }).at)
      }
      await partner.run(`insert into cursors values ('old', timestamp '2026-01-01 00:00:00')`)
      const reader = await partner.connect()
      await reader.query('start transaction with consistent snapshot, read only')
      const before = await clock()
      const writer = await partner.connect()
      await writer.query('start transaction')
      await writer.query(`insert into cursors values ('late', ${now})`)
      await expect.poll(async () => (await clock()) - before, { timeout: 60_000 }).toBeGreaterThan(1_500)
      await partner.run(`insert into cursors values ('early', ${now})`)
      // The clocks of the server stand five hours behind UTC, which is where a datetime's watermark stays.
      expect(await newest()).toBeLessThanOrEqual(before)
      await writer.query('commit')
      const after = await newest()
      expect(after).toBeGreaterThan(before - (type.startsWith('datetime') ? 5 * 3_600_000 : 0))
      await reader.query('rollback')
    },
  )
})

describe('an address of MariaDB', () => {
  const outcome = async (url: string) =>
    openPartnerSnapshot({ url, statementTimeoutMs: 1_000, connectTimeoutMs: 2_000 }).then(
      async (snapshot) => {
        await snapshot.close()
        return 'opened'
      },
      (error: Error & { code: string }) => `${error.code}: ${error.message}`,
    )
  const withParameters = (text: string) => `${partner.url}?${text}`

  it('an address of MariaDB is encrypted and verified with ssl, by the authority that it names', async () => {
    const { authorityFile, port } = inject('mariadb')
    const user = new URL(partner.url).username
    const root = await asRoot(port)
    await root.query(`alter user ?@'127.0.0.1' require ssl`, [user])
    await root.end()
    const file = encodeURIComponent(authorityFile)
    expect(await outcome(partner.url)).toMatch(/^partner_unreachable: .*Access denied/)
    expect(await outcome(withParameters('ssl=true'))).toMatch(/^partner_unreachable: .*certificate/)
    expect(await outcome(withParameters('ssl=no-verify'))).toBe('opened')
    expect(await outcome(withParameters(`sslrootcert=${file}`))).toBe('opened')
    expect(await outcome(withParameters(`ssl=true&sslrootcert=${file}`).replace('127.0.0.1', 'localhost'))).toMatch(
      /Access denied|opened/,
    )
    await partner.root.query(`alter user ?@'127.0.0.1' require none`, [user])
  })

  it('an address of MariaDB that is wrong says what is wrong with it, and shows no password', async () => {
    const wrong = new URL(partner.url)
    wrong.password = 'geheim-und-falsch'
    const nowhere = new URL(partner.url)
    nowhere.pathname = '/no_such_database'
    const said = {
      [wrong.href]: /^partner_unreachable: .*Access denied for user/,
      [nowhere.href]: /^partner_unreachable: .*(Unknown database|Access denied).*no_such_database/,
      [withParameters('tls=1')]: /^partner_unreachable: .*unknown parameters: tls; there are ssl, sslrootcert, socket/,
      [withParameters('ssl=perhaps')]: /^partner_unreachable: .*ssl=perhaps .*true, no-verify or false/,
      [withParameters('sslrootcert=/no/such/file')]: /^partner_unreachable: .*ENOENT/,
      'mysql://u:p#geheim@127.0.0.1/db': /^partner_unreachable: .*no URL/,
      'mysql://u:12/34geheim@127.0.0.1:1/db': /^partner_unreachable: .*%2F/,
      'mysql://u:ge%heim@127.0.0.1:1/db': /^partner_unreachable: .*%25/,
    }
    for (const [url, expected] of Object.entries(said)) {
      const sentence = await outcome(url)
      expect(sentence).toMatch(expected)
      for (const secret of ['geheim', 'heim', encodeURIComponent(password)]) expect(sentence).not.toContain(secret)
    }
  })
})
