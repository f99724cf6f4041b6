import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { parkedGroups } from '../../../src/db/ledger/parked-groups.ts'
import { causesOfRows, rowsInState } from '../../../src/db/ledger/rows-in-state.ts'
import { statusCounts } from '../../../src/db/ledger/status-counts.ts'
import { needsOf } from '../../../src/db/nights/night-facts.ts'
import { parkedBehind } from '../../../src/db/runs/wave-reports.ts'
import { traceRows } from '../../../src/db/trace/trace-rows.ts'
import { streams } from '../../../src/pipeline/streams/our-streams.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
const requires = Object.fromEntries(streamNames.map((name) => [name, [] as string[]]))
const answer = (partner_id: string, name: string) => ({
  partner_id,
  row_key: `${partner_id} ${name}`,
  content: { name },
})

beforeEach(() => ledger.clear())

/** A request that carries what is pending of a stream, and has not ended in time. */
async function overdue(stream: string): Promise<number> {
  const [submission] = await ledger.plan(await ledger.startRun(), {
    kind: stream,
    streams: [stream],
    partitionBy: null,
  })
  if (submission === undefined) throw new Error('nothing was planned')
  await ledger.markSent(submission)
  await sql`update submission set overdue_since = clock_timestamp() where submission_id = ${submission}`.execute(
    ledger.db,
  )
  return submission
}

const statesOf = async (partnerId: string) =>
  (await traceRows(ledger.db, partnerId, requires, [])).map(({ row_key, state }) => [row_key, state])

describe('rows behind an overdue request', () => {
  it('rows behind an overdue request are parked, and every list names the request that they wait for', async () => {
    await ledger.landChecked('framework_answers', [answer('H-1', 'sent')])
    const submission = await overdue('framework_answers')
    await ledger.landChecked('framework_answers', [answer('H-1', 'left'), answer('H-1', 'lost'), answer('H-2', 'free')])
    await sql`update acceptance set outcome = 'unknown', outcome_at = clock_timestamp()
              where row_id = (select row_id from source_row where row_key = 'H-1 lost')`.execute(ledger.db)
    const words = `rows of its hotel are in submission ${submission}, which is overdue`
    expect(await statesOf('H-1')).toEqual([
      ['H-1 sent', 'in_flight'],
      ['H-1 left', 'parked'],
      ['H-1 lost', 'parked'],
    ])
    expect(await statesOf('H-2')).toEqual([['H-2 free', 'pending']])
    expect((await traceRows(ledger.db, 'H-1', requires, []))[1]).toMatchObject({
      code: 'requires_overdue',
      reason: expect.stringContaining(words),
    })
    const about = { code: 'requires_overdue', reason: expect.stringContaining(words) }
    expect(await rowsInState(ledger.db, 'parked', { requires, limit: 10 })).toMatchObject([about, about])
    const filter = { reason: `submission ${submission}` }
    expect(await rowsInState(ledger.db, 'parked', { requires, filter, limit: 10 })).toHaveLength(2)
    expect(await parkedGroups(ledger.db, requires, {}, 10, 'whole')).toMatchObject({ groups: [{ ...about, rows: 2 }] })
    expect(await causesOfRows(ledger.db, 'parked', { requires, limit: 10 })).toMatchObject([
      { code: 'requires_overdue', reason: filter.reason, rows: 2, hotels: 1 },
    ])
    expect(await needsOf(ledger.db, requires)).toContainEqual({ state: 'parked', rows: 2, hotels: 1 })
    expect(await parkedBehind(ledger.db, requires)).toMatchObject([
      { rows: 2, requirement_state: 'overdue', submission_id: submission },
    ])
    expect(await statusCounts(ledger.db, requires)).toMatchObject([{ parked: 2, unknown: 0, pending: 4, in_flight: 1 }])
  })

  it('rows of a hotel are pending again once the overdue request of it is given up', async () => {
    await ledger.landChecked('framework_answers', [answer('H-1', 'sent')])
    const submission = await overdue('framework_answers')
    await ledger.landChecked('framework_answers', [answer('H-1', 'left')])
    await ledger.settleAll(submission, 'unknown', 'abandoned', false)
    expect(await statesOf('H-1')).toEqual([
      ['H-1 sent', 'unknown'],
      ['H-1 left', 'pending'],
    ])
  })

  it('rows of another hotel of the same company wait behind an overdue request alike', async () => {
    await ledger.landChecked('framework_answers', [answer('H-1', 'sent')])
    const submission = await overdue('framework_answers')
    const company_id = '0b6c2f4e-0000-4000-8000-00000000000a'
    await ledger.db
      .insertInto('mapping')
      .values(['H-1', 'H-2'].map((partner_id) => ({ partner_id, company_id, submission_id: submission })))
      .execute()
    await ledger.landChecked('framework_answers', [answer('H-2', 'twin')])
    expect(await statesOf('H-2')).toEqual([['H-2 twin', 'parked']])
  })

  it.each(streamNames.flatMap((held) => streamNames.map((waits) => [held, waits] as const)))(
    'an overdue request with rows of %s keeps rows of %s back if they travel in its kind, and else not',
    async (held, waits) => {
      await ledger.landChecked(held, [answer('H-1', 'sent')])
      await overdue(held)
      await ledger.landChecked(waits, [answer('H-1', 'left')])
      const rows = await traceRows(ledger.db, 'H-1', requires, [])
      const row = rows.find(({ row_key }) => row_key === 'H-1 left')
      expect(row?.state).toBe(streams[held].kind === streams[waits].kind ? 'parked' : 'pending')
    },
  )
})
