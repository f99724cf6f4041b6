import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { withSession } from '../../../src/db/database.ts'
import { openPartnerSnapshot } from '../../../src/partner/partner-snapshot.ts'
import { createStage } from '../../../src/pipeline/delta/landing/stage-rows.ts'
import { stageHotels } from '../../../src/pipeline/delta/reread-hotels.ts'
import { shapeOf } from '../../../src/pipeline/streams/our-streams.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { type DialectPartner, hotelsQuery, partners } from './partners.ts'

describe.each(partners)('hotels that a run asks for, dialect %#', (open) => {
  let ferry: Ferry
  let partner: DialectPartner
  beforeAll(async () => {
    ferry = await openFerry()
    partner = await open()
  })
  beforeEach(() => partner.clear())
  afterAll(async () => {
    await partner.close()
    await ferry.close()
  })

  /** @returns which hotels were staged, and how many hotels each query named; null: it named none. */
  const ask = async (partnerIds: string[]) => {
    await using deps = ferry.deps('http://127.0.0.1:9')
    const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 60_000 })
    const named: (number | null)[] = []
    const watched: typeof snapshot = {
      ...snapshot,
      delta: (delta) => {
        named.push(delta.only?.partnerIds.length ?? null)
        return snapshot.delta(delta)
      },
    }
    const shape = shapeOf(deps.contract, 'properties')
    const query = { stream: 'properties', query: hotelsQuery, columns: shape.columns, fetchRows: 100 }
    try {
      return await withSession(deps.pool, ({ client, db }) =>
        db.transaction().execute(async (trx) => {
          await createStage(trx)
          const stream = { shape, query, cursor: 'at' }
          const { rows } = await stageHotels({ client, snapshot: watched, stream, judge: () => null }, partnerIds)
          const staged = await client.query<{ partner_id: string }>('select partner_id from staged order by 1')
          expect(rows).toBe(staged.rows.length)
          return { staged: staged.rows.map(({ partner_id }) => partner_id), named }
        }),
      )
    } finally {
      await snapshot.close()
    }
  }

  it('hotels are asked for some at a time, and many in one reading that leaves the others out', async () => {
    await partner.run(`insert into hotel values ('H-1', 'one', null, 1), ('H-2', 'two', null, 1), ('X', 'x', null, 1)`)
    const hotels = (count: number) => Array.from({ length: count }, (_, at) => `H-${at + 1}`)
    const staged = ['H-1', 'H-2']
    expect(await ask(hotels(201))).toEqual({ staged, named: [200, 1] })
    expect(await ask(hotels(1_000))).toEqual({ staged, named: [200, 200, 200, 200, 200] })
    expect(await ask(hotels(1_001))).toEqual({ staged, named: [null] })
  })
})
