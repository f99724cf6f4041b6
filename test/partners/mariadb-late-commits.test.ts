import { setTimeout as pace } from 'node:timers/promises'
import fc from 'fast-check'
import type { Connection } from 'mysql2/promise'
import { expect, it } from 'vitest'
import { extractNow } from '../pipeline/delta/partner.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'
import { type MariadbPartner, openMariadbPartner } from './mariadb-partner.ts'

/** What a writer does, one after another, at its own pace and beside the extractions. */
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('write' as const), tied: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('write slowly' as const), ms: fc.integer({ min: 50, max: 400 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ does: 'commit' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'roll back' as const }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('rest' as const), ms: fc.integer({ min: 5, max: 150 }) }) },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

const writers = 4
const night = fc.record({
  work: fc.array(fc.array(action, { minLength: 4, maxLength: 12 }), { minLength: writers, maxLength: writers }),
  extractions: fc.integer({ min: 1, max: 4 }),
  fetchRows: fc.integer({ min: 1, max: 5 }),
})
type Night = { work: Action[][]; extractions: number; fetchRows: number }
type Seen = { written: number; tied: number }

const nights = 30

it.each([
  ['the transactions that it sees', 'transactions', 0],
  // No transaction of a night is open as long as that.
  ['the overlap, where it sees none', 'overlap', 12_000],
] as const)(
  `an extraction loses no row in ${nights} random nights of transactions that commit late: by %s`,
  { timeout: 300_000 },
  async (_title, protection, overlapMs) => {
    const seen = { written: 0, tied: 0 }
    const ferry = await openFerry()
    const partner = await openMariadbPartner('create table hotel (code varchar(20), name text, at timestamp(6) null)')
    const clients = await Promise.all(Array.from({ length: writers }, () => partner.connect()))
    const url = protection === 'transactions' ? partner.url : partner.blindUrl
    try {
      await fc.assert(
        fc.asyncProperty(night, async (random) => {
          const { wanted, landed, late, protections } = await oneNight(
            ferry,
            { ...partner, url },
            clients,
            random,
            overlapMs,
            seen,
          )
          expect(late).toBe(true)
          expect(landed).toEqual(wanted)
          expect(protections).toEqual([protection])
        }),
        { numRuns: nights },
      )
    } finally {
      await partner.close()
      await ferry.close()
    }
    // Nights without equal times would prove nothing.
    expect(seen.tied / seen.written).toBeGreaterThan(0.3)
  },
)

const query = `
  select code as partner_id, name, null as street, null as latitude, null as longitude, null as country_code,
         null as airport_code, null as hotel_code, null as booking_id, at
  from hotel`

async function oneNight(
  ferry: Ferry,
  partner: MariadbPartner,
  clients: readonly Connection[],
  random: Night,
  overlapMs: number,
  seen: Seen,
) {
  await ferry.clear()
  await partner.run('delete from hotel')
  const read = () => extractNow(ferry, partner, { properties: { query } }, { overlapMs, fetchRows: random.fetchRows })
  // A time that several transactions write: taken when the youngest of them began, so that it is before none.
  const shared = { at: '' }
  const work = clients.map((client, index) => perform(client, random.work[index] ?? [], `H-${index}`, shared, seen))
  const reading = (async () => {
    for (let count = 0; count < random.extractions; count++) await read()
  })()
  await Promise.all([...work, reading])
  await commitLate(clients, read)
  const before = await landedIn(ferry)
  await read()
  const [list] = await partner.root.query<never[]>(
    'select code, cast(at as char) as at from hotel order by code collate utf8mb4_bin',
  )
  const rows = list as { code: string; at: string }[]
  const newest = rows.reduce((latest, { code, at }) => (before.includes(code) && at > latest ? at : latest), '')
  const { rows: protections } = await ferry.ledger.pool.query<{ protection: string }>(
    'select distinct protection from run_stream',
  )
  return {
    wanted: rows.map(({ code }) => code),
    landed: await landedIn(ferry),
    late: rows.some(({ code, at }) => !before.includes(code) && at < newest),
    protections: protections.map((row) => row.protection),
  }
}

/**
 * How many of the random writers commit late is chance, and the machine's speed. So each night ends with one that
 * surely does: it writes before another, and commits after an extraction that saw only the other.
 */
async function commitLate([slow, quick]: readonly Connection[], read: () => Promise<unknown>): Promise<void> {
  if (slow === undefined || quick === undefined) throw new Error('a late commit takes two connections')
  const insert = async (client: Connection, code: string) => {
    await client.query('insert into hotel (code, name, at) values (?, ?, ?)', [code, code, await now(client)])
  }
  await slow.query('start transaction with consistent snapshot')
  await insert(slow, 'LATE')
  await insert(quick, 'QUICK')
  await read()
  await slow.query('commit')
}

async function perform(
  client: Connection,
  actions: readonly Action[],
  prefix: string,
  shared: { at: string },
  seen: Seen,
): Promise<void> {
  let open = false
  for (const [index, next] of actions.entries()) {
    const code = `${prefix}-${index}`
    // Without a statement at work: that alone would hold the watermark back.
    if (next.does === 'rest') await pace(next.ms)
    else if (next.does === 'write') {
      if (!open) {
        await client.query('start transaction with consistent snapshot')
        open = true
        const began = await now(client)
        if (began > shared.at) shared.at = began
      }
      const at = next.tied ? shared.at : await now(client)
      await client.query('insert into hotel (code, name, at) values (?, ?, ?)', [code, code, at])
      seen.written += 1
      if (next.tied) seen.tied += 1
    } else if (next.does === 'write slowly') {
      // The statement's time is that of its beginning, and its transaction begins later.
      await client.query('insert into hotel (code, name, at) select ?, sleep(?), now(6)', [code, next.ms / 1000])
      seen.written += 1
    } else if (open) {
      await client.query(next.does === 'commit' ? 'commit' : 'rollback')
      open = false
    }
  }
  if (open) await client.query('commit')
}

async function now(client: Connection): Promise<string> {
  const [rows] = await client.query<never[]>('select cast(now(6) as char) as at')
  return (rows[0] as unknown as { at: string }).at
}

async function landedIn(ferry: Ferry): Promise<string[]> {
  const { rows } = await ferry.ledger.pool.query<{ partner_id: string }>(
    `select partner_id from source_row where stream = 'properties' order by partner_id collate "C"`,
  )
  return rows.map(({ partner_id }) => partner_id)
}
