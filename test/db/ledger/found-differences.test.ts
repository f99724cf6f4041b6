import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { headlines, rowGroups } from '../../../src/cli/show/row-groups.ts'
import { recordAction } from '../../../src/db/actions/record-action.ts'
import { listDifferences, listRowDifferences, noteComparison } from '../../../src/db/differences/difference-records.ts'
import { countRepairable, markForRepair, markForResend, releaseResends } from '../../../src/db/ledger/rows-again.ts'
import { storeSkew } from '../../../src/db/service-key/service-key.ts'
import { tracePartner } from '../../../src/db/trace/trace-partner.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { type Ledger, openLedger } from './ledger.ts'

let ledger: Ledger
let run: number
beforeAll(async () => {
  ledger = await openLedger()
})
beforeEach(async () => {
  await ledger.clear()
  await emptyTables(ledger.db, [
    'row_difference',
    'row_comparison',
    'input_difference',
    'input_comparison',
    'service_key',
  ])
  run = await ledger.startRun()
  await ledger.landChecked('framework_answers', [{ partner_id: 'H-1', content: { value: '1' } }], true)
  await ledger.landChecked('calculator_inputs', [{ partner_id: 'H-1', content: { inputs: { f: '1' } } }], true)
  await sql`update acceptance set accepted_at = clock_timestamp()`.execute(ledger.db)
})
afterAll(() => ledger.close())

const company = '00000000-0000-4000-8000-000000000001'
const rowOf = (stream: string) => sql`(select row_id from source_row where stream = ${stream})`

/** What a comparison of this run finds: the answer and the input are otherwise than they were sent. */
async function find(changedThereAt: Date | null = null): Promise<void> {
  const { db } = ledger
  await ledger.inTransaction((trx) =>
    noteComparison(trx, {
      run_id: run,
      kind: 'answers',
      submission_id: null,
      withheld: null,
      suspicious: false,
      rows: 1,
      equal: 0,
      absent: 0,
      different: 1,
      unjudged: 0,
      unsettled: 0,
      new: 1,
    }),
  )
  const { rows } = await sql<{ submission_id: number }>`
    insert into submission (run_id, kind, partition, state, row_count) values (${run}, 'calculators_search', '', 'settled', 0)
    returning submission_id`.execute(db)
  await sql`insert into input_comparison (run_id, submission_id) values (${run}, ${rows[0]?.submission_id})`.execute(db)
  await sql`
    insert into row_difference (row_id, comparison, kind, company_id, sent, stored, changed_there_at, found_by_run)
    values (${rowOf('framework_answers')}, 'answers', 'different', ${company}, '1', '2', ${changedThereAt}, ${run})`.execute(
    db,
  )
  await sql`
    insert into input_difference (kind, company_id, period_year, period_month, variable_id, row_id, sent, stored, found_by_run, found_at)
    values ('different', ${company}, 2025, 1, 'f', ${rowOf('calculator_inputs')}, '1', '2', ${run}, now())`.execute(db)
}

const filter = { kinds: ['absent', 'different'] } as const
const listed = async () => [
  ...(await listDifferences(ledger.db, filter, 10)).map(({ variable_id }) => variable_id),
  ...(await listRowDifferences(ledger.db, filter, 10)).map(({ stream }) => stream),
]

async function resend(): Promise<void> {
  await ledger.inTransaction(async (trx) => {
    const actor = { user: 'somebody', host: 'here' }
    const action = { verb: 'resend', actor, at: new Date(), rows: 0, asked: {} } as const
    await markForResend(trx, await recordAction(trx, action), {})
  })
  await releaseResends(ledger.db, {})
}

describe('a difference that a comparison found', () => {
  it('a difference that a comparison found is listed while what was accepted stands', async () => {
    await find()
    expect(await listed()).toEqual(['f', 'framework_answers'])
  })

  it('a difference that a comparison found is not listed any more once its row is to be sent again, nor when it was accepted after the comparison', async () => {
    await find()
    await resend()
    expect(await listed()).toEqual([])
    await sql`update acceptance set accepted_hash = wanted_hash, accepted_at = clock_timestamp()`.execute(ledger.db)
    expect(await listed()).toEqual([])
    expect(await ledger.inTransaction(countRepairable)).toEqual([])
  })

  it('a difference that a comparison found stands in the trace of its hotel, whatever its stream', async () => {
    await find()
    const { rows } = await sql<{ partner_id: string }>`select partner_id from differences limit 1`.execute(ledger.db)
    const trace = await tracePartner(ledger.db, rows[0]?.partner_id ?? '', {}, [])
    expect(trace?.row_differences).toMatchObject([{ stream: 'framework_answers', sent: '1', stored: '2' }])
    expect(trace && headlines(trace, rowGroups(trace.rows))).toContain(
      '1 row the service shows otherwise than sent, or not at all.',
    )
  })

  it('a difference that a comparison found is listed again when the next comparison finds it again', async () => {
    await find()
    await resend()
    await sql`update acceptance set accepted_hash = wanted_hash, accepted_at = clock_timestamp()`.execute(ledger.db)
    await sql`update row_comparison set compared_at = clock_timestamp()`.execute(ledger.db)
    await sql`update input_comparison set compared_at = clock_timestamp()`.execute(ledger.db)
    expect(await listed()).toEqual(['f', 'framework_answers'])
  })
})

describe('a value that was changed at the service', () => {
  const minutes = (number: number) => new Date(Date.now() + number * 60_000)
  const repairable = async () =>
    (await ledger.inTransaction(countRepairable)).filter(({ stream }) => stream === 'framework_answers')

  it('a value that was changed at the service is written over where the change came before what was accepted', async () => {
    await find(minutes(-5))
    expect(await repairable()).toMatchObject([{ kind: 'different', rows: 1 }])
  })

  it('a value that was changed at the service is left alone where it was changed later, by a service whose clock is ten minutes slow', async () => {
    await find(minutes(-5))
    await storeSkew(ledger.db, 'key', { lowMs: -600_500, highMs: -599_500 })
    expect(await repairable()).toEqual([])
    expect(
      await ledger.inTransaction((trx) =>
        markForRepair(trx, 1, run, { stream: 'framework_answers', kind: 'different' }),
      ),
    ).toBe(0)
  })

  it('a value that was changed at the service is written over where a service whose clock is ten minutes fast dates an earlier change later', async () => {
    await find(minutes(5))
    expect(await repairable()).toEqual([])
    await storeSkew(ledger.db, 'key', { lowMs: 599_500, highMs: 600_500 })
    expect(await repairable()).toMatchObject([{ kind: 'different', rows: 1 }])
  })
})
