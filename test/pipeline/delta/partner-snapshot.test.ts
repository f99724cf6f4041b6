import pg from 'pg'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { DeltaRows, PartnerSnapshot } from '../../../src/partner/dialect.ts'
import { allInOrder } from '../../../src/partner/dialect.ts'
import { examinePartner, openPartnerSnapshot } from '../../../src/partner/partner-snapshot.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { patience } from '../../helpers/patience.ts'
import { openPartner } from './partner.ts'

const partner = await ofThisFile(openPartner())
beforeEach(async () => {
  await partner.pool.query('truncate hotel')
  await partner.pool.query(`
    insert into hotel (code, name, number) select 'H-' || n, 'before', n from generate_series(1, 500) n`)
})

const names = (snapshot: PartnerSnapshot, stream: string) =>
  snapshot.delta({
    stream,
    query: 'select code, name, number from hotel',
    columns: ['name'],
    cursor: 'number',
    from: null,
    overlapMs: 0,
    fetchRows: 100,
  })

async function all(rows: DeltaRows): Promise<(string | null)[][][]> {
  const batches = []
  for await (const batch of rows) batches.push(batch)
  return batches
}

async function* withSnapshot() {
  const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 10_000 })
  try {
    yield snapshot
  } finally {
    await snapshot.close()
  }
}

describe('a snapshot of the partner', () => {
  it('shows every stream the same moment, whatever is committed between them and while one is read', async () => {
    for await (const snapshot of withSnapshot()) {
      const seen: (string | null)[] = []
      for await (const batch of names(snapshot, 'properties')) {
        seen.push(...batch.map(([name]) => name ?? null))
        await partner.pool.query(`update hotel set name = 'after'`)
      }
      await partner.pool.query(`insert into hotel (code, name, number) values ('new', 'after', 501)`)
      for await (const batch of names(snapshot, 'calculator_settings'))
        seen.push(...batch.map(([name]) => name ?? null))
      expect(new Set(seen)).toEqual(new Set(['before']))
      expect(seen).toHaveLength(1000)
    }
    for await (const snapshot of withSnapshot()) {
      const batches = await all(names(snapshot, 'properties'))
      expect(batches.flat()).toHaveLength(501)
      expect(new Set(batches.flat().map(([name]) => name))).toEqual(new Set(['after']))
    }
  })

  it('hands the rows over in batches of the size asked for, in the order of the cursor', async () => {
    for await (const snapshot of withSnapshot()) {
      const batches = await all(names(snapshot, 'properties'))
      expect(batches.map(({ length }) => length)).toEqual([100, 100, 100, 100, 100])
      const numbers = batches.flat().map(([, number]) => Number(number))
      expect(numbers).toEqual(Array.from({ length: 500 }, (_, index) => index + 1))
    }
  })

  it('a snapshot of the partner refuses a query that yields a column of its stream twice, before any row is read', async () => {
    const query = { stream: 'properties', columns: ['name'], cursor: 'number', fetchRows: 100 }
    for await (const snapshot of withSnapshot()) {
      const twice = 'select h.*, o.number from hotel h join hotel o on o.code = h.code'
      await expect(snapshot.check({ ...query, query: twice })).rejects.toMatchObject({
        code: 'partner_query_failed',
        message: expect.stringContaining('yields number more than once'),
      })
      const others = 'select h.*, h.code, h.at from hotel h'
      expect(await snapshot.check({ ...query, query: others })).toBe('none')
    }
  })

  it('can be read on after a stream that was left in the middle', async () => {
    for await (const snapshot of withSnapshot()) {
      for await (const _ of names(snapshot, 'properties')) break
      expect((await all(names(snapshot, 'calculator_settings'))).flat()).toHaveLength(500)
    }
  })

  it('says that the database broke off when its backend is killed in the middle', async () => {
    for await (const snapshot of withSnapshot()) {
      const rows = names(snapshot, 'properties')[Symbol.asyncIterator]()
      await rows.next()
      await partner.pool.query(`
        select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and application_name = 'nightferry extract'`)
      const rest = (async () => {
        for (let next = await rows.next(); next.done !== true; next = await rows.next());
      })()
      await expect(rest).rejects.toMatchObject({ code: 'partner_unreachable' })
    }
  })

  const manyLines = {
    stream: 'properties',
    query: `select repeat('x', 1000) as name from generate_series(1, 200000)`,
    columns: ['name'],
    fetchRows: 100,
  }

  it('says that the database broke off when its backend is killed while lines are read', async () => {
    for await (const snapshot of withSnapshot()) {
      const lines = snapshot.lines(manyLines)[Symbol.asyncIterator]()
      await lines.next()
      await partner.pool.query(`
        select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and application_name = 'nightferry extract'`)
      const rest = (async () => {
        for (let next = await lines.next(); next.done !== true; next = await lines.next());
      })()
      await expect(rest).rejects.toMatchObject({ code: 'partner_unreachable' })
    }
  })

  it.each([
    ['bigint', ['9', '-30', '10', '8'], '10'],
    ['smallint', ['-9', '-10'], '-9'],
    ['numeric', ['9.5', '10', '-11'], '10'],
    ['text', ['b', 'ab', ''], 'b'],
    ['date', ['2026-01-02', '2025-12-31'], '2026-01-02'],
    ['date', ['0044-03-15 BC', '0043-01-01 BC'], '0043-01-01 BC'],
    ['timestamp', ['2026-01-01 00:00:00', '2026-01-01 00:00:00.5', '2026-01-01 00:00:00.25'], '2026-01-01 00:00:00.5'],
    ['timestamptz', ['2026-01-01 01:00:00+02', '2026-01-01 00:00:00+00'], '2026-01-01 00:00:00+00'],
    ['timestamptz', ['9999-01-01 00:00:00+00', '10000-01-01 00:00:00+00'], '10000-01-01 00:00:00+00'],
    ['timestamptz', ['-infinity', '2026-01-01 00:00:00+00'], '2026-01-01 00:00:00+00'],
    ['timestamptz', ['infinity', '2026-01-01 00:00:00+00', '10000-01-01 00:00:00+00'], 'infinity'],
  ])('the newest row is the one with the last %s cursor, in any order: %j', async (type, cursors, expected) => {
    const listed = [...cursors, null].map((cursor) => (cursor === null ? 'null' : `'${cursor}'`)).join(', ')
    for await (const snapshot of withSnapshot()) {
      for (const order of ['asc', 'desc']) {
        const found = snapshot.all({
          stream: 'properties',
          query: `select at::text as name, at from unnest(array[${listed}]::${type}[]) with ordinality a (at, n) order by n ${order}`,
          columns: ['name'],
          cursor: 'at',
          fetchRows: 2,
        })
        expect((await all(found.rows)).flat()).toHaveLength(cursors.length + 1)
        expect((await found.newest())?.row[0]).toBe(expected)
      }
    }
  })

  it.each([
    ['text', ['b', 'ab'], 'b'],
    ['bigint', ['9', '10'], '10'],
    ['numeric', ['9', '10', 'NaN'], '10'],
    ['date', ['2026-01-02', '2099-01-01', '2026-01-01'], '2026-01-02'],
    ['timestamp', ['2026-01-01 00:00:00', '2099-01-01 00:00:00', '2026-01-02 00:00:00'], '2026-01-02 00:00:00'],
    ['timestamp', ['2026-01-01 00:00:00', 'infinity', '2026-01-02 00:00:00'], '2026-01-02 00:00:00'],
    ['timestamp', ['10000-01-01 00:00:00', '2026-01-02 00:00:00', '2098-01-01 00:00:00'], '2026-01-02 00:00:00'],
    ['timestamptz', ['2099-01-01 00:00:00+00', 'infinity'], null],
    ['timestamp', ['2099-01-01 00:00:00'], null],
    ['timestamp', [], null],
  ])(
    'the newest %s cursor that moves the watermark as it is lies ahead in no order: %j',
    async (type, cursors, expected) => {
      const listed = [...cursors, null].map((cursor) => (cursor === null ? 'null' : `'${cursor}'`)).join(', ')
      for await (const snapshot of withSnapshot()) {
        for (const order of ['asc', 'desc']) {
          const query = {
            stream: 'properties',
            query: `select at::text as name, at from unnest(array[${listed}]::${type}[]) with ordinality a (at, n) order by n ${order}`,
            columns: ['name'],
            cursor: 'at',
            fetchRows: 2,
          }
          for (const found of [snapshot.all(query), allInOrder(snapshot, query)]) {
            await all(found.rows)
            expect((await found.newest())?.reached ?? null).toBe(expected)
          }
        }
      }
    },
  )

  it.each(['idle_in_transaction_session_timeout', 'transaction_timeout'])(
    'stays open while rows are stored, for longer than %s of the server allows others',
    async (setting) => {
      const { rowCount } = await partner.pool.query('select from pg_settings where name = $1', [setting])
      if (rowCount === 0) return
      const name = pg.escapeIdentifier(new URL(partner.url).pathname.slice(1))
      await partner.pool.query(`alter database ${name} set ${setting} = '1s'`)
      try {
        for await (const snapshot of withSnapshot()) {
          await all(names(snapshot, 'properties'))
          await vi.waitFor(async () => {
            const { rows } = await partner.pool.query<{ over: boolean }>(
              `select bool_and(state_change < clock_timestamp() - interval '1.5 seconds') is not false as over
               from pg_stat_activity
               where datname = current_database() and application_name = 'nightferry extract'`,
            )
            expect(rows).toEqual([{ over: true }])
          }, patience)
          expect((await all(names(snapshot, 'framework_answers'))).flat()).toHaveLength(500)
        }
      } finally {
        await partner.pool.query(`alter database ${name} reset ${setting}`)
      }
    },
    20_000,
  )

  it('closes although its lines were not read to the end', async () => {
    const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 10_000 })
    for await (const _ of snapshot.lines(manyLines)) break
    await snapshot.close()
    const { rowCount } = await partner.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'nightferry extract' and state = 'idle'`,
    )
    expect(rowCount).toBe(0)
  })

  const sleeping = {
    stream: 'properties',
    query: 'select pg_sleep(30)::text as name, 1 as number',
    columns: ['name'],
    cursor: 'number',
    fetchRows: 1,
  }
  const trickling = {
    ...sleeping,
    query: 'select pg_sleep(0.01)::text as name, n as number from generate_series(1, 3000) n',
  }
  it.each<[string, (snapshot: PartnerSnapshot) => AsyncIterable<unknown>]>([
    ['past a watermark', (snapshot) => snapshot.delta({ ...sleeping, from: null, overlapMs: 0 })],
    ['in lines', (snapshot) => snapshot.lines(sleeping)],
    ['in any order', (snapshot) => snapshot.all(sleeping).rows],
    ['row after row', (snapshot) => snapshot.all(trickling).rows],
  ])('gives up a statement that takes longer than allowed, and says what allows it more: %s', async (_, read) => {
    const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 100 })
    try {
      const reading = async () => {
        for await (const _rows of read(snapshot));
      }
      await expect(reading()).rejects.toMatchObject({
        code: 'partner_query_too_slow',
        message: expect.stringMatching(/statement timeout.*partner\.statementTimeoutMs/),
      })
    } finally {
      await snapshot.close()
    }
  })

  it('ends with the error of a row that the server cannot make, although the rows before it are still worked on', async () => {
    const aborted = async () => {
      const { rows } = await partner.pool.query(
        `select state from pg_stat_activity where datname = current_database() and application_name = 'nightferry extract'`,
      )
      expect(rows).toEqual([{ state: 'idle in transaction (aborted)' }])
    }
    const query = 'select (1 / (3 - n))::text as name, n as number from generate_series(1, 5) n'
    for await (const snapshot of withSnapshot()) {
      const reading = async () => {
        for await (const [row] of snapshot.all({ ...sleeping, query }).rows) {
          if (row?.[1] === '2') await vi.waitFor(aborted, patience)
        }
      }
      await expect(reading()).rejects.toMatchObject({ code: 'partner_query_failed' })
    }
  }, 20_000)

  it.each<[string, string, string, string?]>([
    ['a conflict with the recovery of a standby', '40001', 'partner_unreachable'],
    ['a deadlock', '40P01', 'partner_unreachable'],
    ['a disk that is full', '53100', 'partner_query_failed', 'space or memory'],
    ['memory that is used up', '53200', 'partner_query_failed', 'space or memory'],
    ['a lock that was not to be had in time', '55P03', 'partner_unreachable'],
    ['a transaction that was idle too long', '25P03', 'partner_unreachable'],
    ['a transaction that was open too long', '25P04', 'partner_unreachable'],
    ['a file that cannot be read', '58030', 'partner_unreachable'],
    ['a page that is broken', 'XX001', 'partner_query_failed', 'repaired'],
    ['more temporary files than a statement may make', '53400', 'partner_query_failed', 'space or memory'],
    ['a statement that would write', '25006', 'partner_query_failed'],
    ['an error of an extension', 'XX000', 'partner_query_failed'],
  ])('says whether the query or the server has to be looked at: %s', async (_, raised, code, advice = '') => {
    await partner.pool.query(`
      create or replace function troubled(raised text) returns text language plpgsql
      as $$ begin raise exception 'trouble' using errcode = raised; end $$`)
    const query = { ...sleeping, query: `select troubled('${raised}') as name, 1 as number` }
    for (const read of [
      (snapshot: PartnerSnapshot) => snapshot.all(query).rows,
      (s: PartnerSnapshot) => s.lines(query),
    ]) {
      for await (const snapshot of withSnapshot()) {
        const reading = async () => {
          for await (const _rows of read(snapshot));
        }
        await expect(reading()).rejects.toMatchObject({ code, message: expect.stringContaining(advice) })
      }
    }
  })

  it('takes a statement that a person cancelled for one that broke off', async () => {
    const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 600_000 })
    try {
      const asked = expect(snapshot.hasRows(sleeping)).rejects.toMatchObject({ code: 'partner_unreachable' })
      await vi.waitFor(async () => {
        const { rows } = await partner.pool.query(
          `select pg_cancel_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name = 'nightferry extract' and query like '%pg_sleep%'
             and state = 'active'`,
        )
        expect(rows).toHaveLength(1)
      }, patience)
      await asked
    } finally {
      await snapshot.close()
    }
  })
})

it('a PostgreSQL server that is too old to be read is told at once, with the least version', async () => {
  const name = pg.escapeIdentifier(new URL(partner.url).pathname.slice(1))
  // Found before the server's own function of that name, and says all else as the server does.
  await partner.pool.query(`
    create schema old;
    create function old.current_setting(name text) returns text language sql as $$
      select case name when 'server_version_num' then '120022' when 'server_version' then '12.22'
                       else pg_catalog.current_setting(name) end $$;
    alter database ${name} set search_path = old, pg_catalog, public`)
  try {
    for (const open of [openPartnerSnapshot, examinePartner]) {
      await expect(open({ url: partner.url, statementTimeoutMs: 10_000 })).rejects.toMatchObject({
        code: 'partner_too_old',
        message: expect.stringMatching(/ is PostgreSQL 12\.22, which .* PostgreSQL 13 or newer/),
      })
    }
  } finally {
    await partner.pool.query(`alter database ${name} reset search_path; drop schema old cascade`)
  }
})

it.each(['postgres://u:p#geheim@127.0.0.1/db', 'postgres://u:12/34geheim@127.0.0.1:1/db'])(
  'the error says that the database cannot be reached when its address is no address, and shows no part of it: %s',
  async (url) => {
    const opened = openPartnerSnapshot({ url, statementTimeoutMs: 1_000 })
    const error: Error = await opened.then(
      () => new Error('it was opened'),
      (reason: Error) => reason,
    )
    expect(error).toMatchObject({ code: 'partner_unreachable' })
    expect(error.message).not.toContain('geheim')
  },
)
