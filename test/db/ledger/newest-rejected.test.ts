import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settings } from '../../../src/config/schema.ts'
import type { Database } from '../../../src/db/database.ts'
import type { RowFilter } from '../../../src/db/ledger/row-filter.ts'
import { pageOfRows, type RowPlace, rowsInState } from '../../../src/db/ledger/rows-in-state.ts'
import { oldestUnaccepted } from '../../../src/db/ledger/status-counts.ts'
import { loadContract } from '../../../src/exchange/contract.ts'
import { statusOf } from '../../../src/jobs/whole-status.ts'
import { packagedContract } from '../../helpers/world.ts'
import { type Ledger, openLedger } from './ledger.ts'

const hotels = 600
/** Every tenth row has changed since it was rejected, and is not listed. */
const changed = (number: number) => number % 10 === 3

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger()
  const rows = Array.from({ length: hotels }, (_, number) => ({ partner_id: `H-${number}`, content: { number } }))
  await ledger.landChecked('properties', rows)
  // Two rows each were rejected at the same moment.
  await sql`
    update acceptance
    set outcome = 'rejected', outcome_code = 'NotFound', outcome_reason = 'No company like that',
        outcome_at = timestamptz '2026-01-01' + (row_id / 2) * interval '1 minute', refused_hash = wanted_hash`.execute(
    ledger.db,
  )
  await ledger.landChecked(
    'properties',
    rows.filter(({ content }) => changed(content.number)).map((row) => ({ ...row, content: { number: -1 } })),
  )
  await sql`analyze source_row, acceptance`.execute(ledger.db)
})
afterAll(() => ledger.close())

/** The moment at which the rows with the numbers 2 × minutes and the next were rejected. */
function minute(minutes: number): Date {
  return new Date(Date.UTC(2026, 0, 1, 0, minutes))
}

/** The place behind which so many rejected rows are left. */
async function placeOf(db: Database, left: number): Promise<RowPlace> {
  const { rows } = await sql<{ at: string; rowId: number }>`
    select outcome_at::text as at, row_id as "rowId" from ledger where refused_hash = desired_hash
    order by outcome_at, row_id desc offset ${left} limit 1`.execute(db)
  const [place] = rows
  if (place === undefined) throw new Error('there is no such place')
  return place
}

/** As the definition says: all that are rejected, by their moment and then by their number. */
async function inOrder(): Promise<string[]> {
  const { rows } = await sql<{ partner_id: string }>`
    select partner_id from ledger where refused_hash = desired_hash order by outcome_at desc, row_id`.execute(ledger.db)
  return rows.map(({ partner_id }) => partner_id)
}

describe('rejected rows', () => {
  it('rejected rows are listed newest first, page after page, and each once', async () => {
    const seen: string[] = []
    let past: RowPlace | null = null
    do {
      const page = await pageOfRows(ledger.db, 'rejected', { requires: {}, limit: 7, past })
      seen.push(...page.rows.map(({ partner_id }) => partner_id))
      past = page.next
    } while (past !== null)
    expect(seen).toHaveLength(hotels * 0.9)
    expect(seen).toEqual(await inOrder())
  })

  it('the newest rejected rows that pass a filter are found also where none of the newest passes it', async () => {
    const listed = async (filter: RowFilter) =>
      (await rowsInState(ledger.db, 'rejected', { requires: {}, filter, limit: 3 })).map(({ partner_id }) => partner_id)
    const oldest = (await inOrder()).at(-1) ?? ''
    expect(await listed({ partnerId: oldest })).toEqual([oldest])
    expect(await listed({ reason: 'like that', stream: 'properties' })).toEqual((await inOrder()).slice(0, 3))
    expect(await listed({ reason: 'like this' })).toEqual([])
  })

  describe('of many rejected rows a list reads little more than it shows', () => {
    const asked: [string, { filter?: RowFilter; past?: boolean; shown: number }][] = [
      ['the newest', { shown: 20 }],
      ['a late page', { past: true, shown: 5 }],
      ['those since a moment that is after nearly all', { filter: { since: minute(299) }, shown: 3 }],
      ['those with words that no row has', { filter: { reason: 'like this' }, shown: 0 }],
    ]

    it.each(asked)('%s', async (_, { filter = {}, past = false, shown }) => {
      const read = await ledger.inTransaction(async (trx) => {
        const count = async () => {
          const { rows } = await sql<{ read: number }>`
            select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as read
            from pg_stat_xact_user_tables where relid = 'source_row'::regclass`.execute(trx)
          return rows[0]?.read ?? Number.NaN
        }
        const after = past ? await placeOf(trx, shown) : null
        const before = await count()
        const page = await pageOfRows(trx, 'rejected', { requires: {}, filter, limit: 20, past: after })
        expect(page.rows).toHaveLength(shown)
        return (await count()) - before
      })
      expect(read).toBeGreaterThanOrEqual(shown)
      expect(read).toBeLessThan(hotels / 4)
    })
  })
})

it('status says of the oldest change that is not accepted what the metrics say', async () => {
  const config = settings.parse({ exchange: {}, partner: {} })
  const contract = loadContract(packagedContract)
  const of = async () => (await statusOf(ledger.db, config, contract, new Date(), 'none')).oldest_unaccepted_since
  const oldest = await oldestUnaccepted(ledger.db, {})
  expect(oldest).toBeInstanceOf(Date)
  expect(await of()).toEqual(oldest)
  await sql`update acceptance set accepted_hash = wanted_hash`.execute(ledger.db)
  expect(await oldestUnaccepted(ledger.db, {})).toBeNull()
  expect(await of()).toBeNull()
})
