import { beforeEach, describe, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { releaseResends } from '../../../src/db/ledger/rows-again.ts'
import { rowsNotAccepted } from '../../../src/db/ledger/rows-not-accepted.ts'
import { releaseUnsent } from '../../../src/db/ledger/settle-outcomes.ts'
import { streamReports } from '../../../src/db/runs/report-rows.ts'
import { adoptUnfinished } from '../../../src/db/runs/run-life.ts'
import { retryRejected } from '../../../src/pipeline/actions/act-on-rows.ts'
import { countPending } from '../../../src/pipeline/preflight/preflight.ts'
import { imbalances } from '../../../src/pipeline/report/report.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
let run: number
beforeEach(async () => {
  await ledger.clear()
  run = await begin()
})

const requires = { framework_answers: ['properties'], properties: [] }
const mappingKind = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }
const property = (partner_id: string, name = partner_id) => ({ partner_id, content: { name } })

/** A run that takes over what the one before left in flight. */
async function begin(): Promise<number> {
  const id = await ledger.startRun()
  await ledger.inTransaction((trx) => adoptUnfinished(trx, id, ['calculators_search']))
  return id
}

async function noteExtracted(stream: string, runId = run): Promise<void> {
  await ledger.db
    .insertInto('run_stream')
    .values({
      run_id: runId,
      stream,
      read: 0,
      folded: 0,
      unchanged: 0,
      changed: 0,
      null_cursor: 0,
      protection: 'transactions',
      pending: null,
      watermark_before: null,
      watermark_after: null,
    })
    .execute()
}

async function report(stream: string, runId = run) {
  const reports = await ledger.db.transaction().execute((trx) => streamReports(trx, runId, requires))
  expect(imbalances(reports)).toEqual([])
  return reports.find((one) => one.stream === stream)
}

describe('the report of a stream', () => {
  it('counts what a person gave up as sent, and what a later run gave up as not sent', async () => {
    await ledger.landChecked('properties', [property('given up'), property('never sent')])
    await noteExtracted('properties')
    await countPending(ledger.db, run)
    const [first, second] = await ledger.plan(run, { ...mappingKind, maxRows: 1 })
    await ledger.settleAll(first ?? 0, 'unknown', 'abandoned', false)
    await ledger.inTransaction((trx) => releaseUnsent(trx, second ?? 0))
    await ledger.db
      .updateTable('submission')
      .set({ state: 'abandoned' })
      .where('submission_id', '=', second ?? 0)
      .execute()
    const [again] = await ledger.plan(run, { ...mappingKind, maxRows: 1 })
    expect(await ledger.keysOf(again ?? 0), 'the run plans again what never left, and nothing else').toEqual([
      'never sent',
    ])
    await ledger.settleAll(again ?? 0, 'confirmed')
    expect(await report('properties')).toMatchObject({ pending: 2, sent: 2, unknown: 1, confirmed: 1 })
  })

  it('tells what a run sent of a stream that it did not read, and what came of it', async () => {
    await ledger.landChecked('properties', [property('one'), property('two')])
    await noteExtracted('framework_answers')
    const [id] = await ledger.plan(run, mappingKind)
    await ledger.settleAll(id ?? 0, 'rejected')
    expect(await report('properties')).toMatchObject({ read: 0, capture: null, pending: 2, sent: 2, rejected: 2 })
    expect(await report('framework_answers')).toMatchObject({ capture: 'cursor', pending: 0, sent: 0 })
  })

  it('keeps its sums when a person asks for a retry while the run is under way', async () => {
    await ledger.landChecked('properties', [property('withheld')])
    await ledger.db
      .updateTable('acceptance')
      .set((eb) => ({ refused_hash: eb.ref('wanted_hash'), outcome: 'rejected' }))
      .execute()
    await noteExtracted('properties')
    await countPending(ledger.db, run)
    const actor = { user: 'anna', host: 'ferry1' }
    expect(await retryRejected({ db: ledger.db, now: () => new Date() }, streamNames, {}, actor)).toEqual([
      { stream: 'properties', rows: 1, suspended: 0 },
    ])
    expect(await ledger.plan(run, mappingKind), 'the run under way does not send it').toEqual([])
    expect(await report('properties')).toMatchObject({ pending: 1, withheld: 1, sent: 0 })
  })

  it('finds a place for every row that was pending', async () => {
    await ledger.landChecked('properties', [property('accepted'), property('accepted too')], true)
    await ledger.landChecked(
      'properties',
      ['invalid', 'withheld', 'good', 'bad', 'lost'].map((id) => property(id)),
    )
    await ledger.db
      .updateTable('acceptance')
      .set({ invalid_reason: 'no' })
      .where('partner_id', '=', 'invalid')
      .execute()
    await ledger.db
      .updateTable('acceptance')
      .set((eb) => ({ refused_hash: eb.ref('wanted_hash') }))
      .where('partner_id', '=', 'withheld')
      .execute()
    await noteExtracted('properties')
    await countPending(ledger.db, run)
    const ids = await ledger.plan(run, { ...mappingKind, maxRows: 1 })
    const outcomes: Record<string, string> = { good: 'confirmed', bad: 'rejected', lost: 'unknown' }
    for (const id of ids) await ledger.settleAll(id, outcomes[(await ledger.keysOf(id))[0] ?? ''] ?? '')
    expect(await report('properties')).toMatchObject({
      pending: 5,
      invalid: 1,
      parked: 0,
      withheld: 1,
      sent: 3,
      confirmed: 1,
      inferred: 0,
      rejected: 1,
      unknown: 1,
    })
  })

  it('counts as parked what waits for something that was not accepted', async () => {
    await ledger.landChecked('properties', [property('H-1')], true)
    await ledger.landChecked('properties', [property('H-2')])
    await ledger.landChecked(
      'framework_answers',
      ['H-1', 'H-2', 'H-3'].map((id) => property(id)),
    )
    await noteExtracted('framework_answers')
    await countPending(ledger.db, run)
    const [id = 0] = await ledger.plan(run, { requires })
    await ledger.settleAll(id, 'inferred')
    expect(await report('framework_answers')).toMatchObject({ pending: 3, parked: 2, sent: 1, inferred: 1 })
  })

  it('counts what is pending of a stream that left the configuration during the run as unconfigured, whatever else keeps it', async () => {
    await ledger.landChecked('omissions', [property('accepted')], true)
    await ledger.landChecked('omissions', [property('invalid'), property('valid')])
    await ledger.db
      .updateTable('acceptance')
      .set({ invalid_reason: 'no' })
      .where('partner_id', '=', 'invalid')
      .execute()
    await noteExtracted('omissions')
    await countPending(ledger.db, run)
    expect(await report('omissions')).toMatchObject({ pending: 2, unconfigured: 2, invalid: 0, parked: 0, sent: 0 })
  })

  it('does not balance when a row is neither sent, invalid, parked nor withheld', async () => {
    await ledger.landChecked('properties', [property('H-1')])
    await noteExtracted('properties')
    await countPending(ledger.db, run)
    expect(imbalances(await ledger.db.transaction().execute((trx) => streamReports(trx, run, requires)))).toEqual([
      'properties: pending is 1, but invalid + parked + withheld + held + behind + unsent + unconfigured + sent is 0',
    ])
  })

  it('lists what is wrong, and not what is well', async () => {
    await ledger.landChecked('properties', [property('good'), property('bad'), property('invalid')])
    await ledger.db
      .updateTable('acceptance')
      .set({ invalid_reason: 'no' })
      .where('partner_id', '=', 'invalid')
      .execute()
    for (const id of await ledger.plan(run, { ...mappingKind, maxRows: 1 })) {
      await ledger.settleAll(id, (await ledger.keysOf(id))[0] === 'good' ? 'confirmed' : 'rejected')
    }
    const listed = await rowsNotAccepted(ledger.db, requires, 10)
    expect(Object.fromEntries(listed.map(({ row_key, state }) => [row_key, state]))).toEqual({
      bad: 'rejected',
      invalid: 'invalid',
    })
    expect(await rowsNotAccepted(ledger.db, requires, 1)).toHaveLength(1)
  })

  it('lists no verdict on what a row has said before', async () => {
    await ledger.landChecked('properties', [property('fixed'), property('bad')])
    for (const id of await ledger.plan(run, mappingKind)) await ledger.settleAll(id, 'rejected')
    await ledger.landChecked('properties', [{ partner_id: 'fixed', content: { name: 'as it should be' } }])
    const listed = await rowsNotAccepted(ledger.db, requires, 10)
    expect(listed.map(({ row_key }) => row_key)).toEqual(['bad'])
  })
})

describe('a submission that an earlier run left in flight', () => {
  const again = [property('H-1')]
  let id: number
  beforeEach(async () => {
    await ledger.landChecked('properties', again)
    id = (await ledger.plan(run, mappingKind))[0] ?? 0
    await ledger.markSent(id)
    run = await begin()
    await noteExtracted('properties')
  })

  it('counts in the run that settled it, before or after the rows were counted', async () => {
    await ledger.settleAll(id, 'confirmed')
    await countPending(ledger.db, run)
    expect(await report('properties')).toMatchObject({ pending: 1, sent: 1, confirmed: 1 })
  })

  it('counts once when its row changed meanwhile and was sent again', async () => {
    await ledger.landChecked('properties', [property('H-1', 'changed')])
    await countPending(ledger.db, run)
    await ledger.settleAll(id, 'rejected')
    const [next = 0] = await ledger.plan(run, mappingKind)
    await ledger.settleAll(next, 'confirmed')
    expect(await report('properties')).toMatchObject({ pending: 1, sent: 1, confirmed: 1, rejected: 0 })
  })

  it('does not count as sent when what its row changed to meanwhile is invalid', async () => {
    await ledger.landChecked('properties', [property('H-1', 'changed')])
    await ledger.db.updateTable('acceptance').set({ invalid_reason: 'wrong' }).execute()
    await countPending(ledger.db, run)
    await ledger.settleAll(id, 'confirmed')
    expect(await ledger.plan(run, mappingKind)).toEqual([])
    expect(await report('properties')).toMatchObject({ pending: 1, sent: 0, confirmed: 0, invalid: 1 })
  })

  it('does not count as sent when its row is to be sent again since, and is kept from that', async () => {
    await ledger.settleAll(id, 'confirmed')
    await ledger.askResend()
    await releaseResends(ledger.db, requires, streamNames)
    await countPending(ledger.db, run)
    await ledger.db.updateTable('acceptance').set({ invalid_reason: 'not of a group' }).execute()
    expect(await ledger.plan(run, mappingKind)).toEqual([])
    expect(await report('properties')).toMatchObject({ pending: 1, sent: 0, confirmed: 0, invalid: 1 })
  })

  it('counts once when its row was sent again since, as it is', async () => {
    await ledger.settleAll(id, 'confirmed')
    await ledger.askResend()
    await releaseResends(ledger.db, requires, streamNames)
    await countPending(ledger.db, run)
    const [next = 0] = await ledger.plan(run, mappingKind)
    await ledger.markSent(next)
    await ledger.db
      .updateTable('submission')
      .set({ attempted_at: new Date() })
      .where('submission_id', '=', next)
      .execute()
    expect(await report('properties')).toMatchObject({ pending: 1, sent: 1, confirmed: 0, awaited: 1 })
    await ledger.settleAll(next, 'confirmed')
    expect(await report('properties')).toMatchObject({ pending: 1, sent: 1, confirmed: 1, awaited: 0 })
  })

  it('balances when its row changed back to what was accepted before', async () => {
    await ledger.settleAll(id, 'confirmed')
    await ledger.landChecked('properties', [property('H-1', 'changed')])
    const other = await begin()
    const [second = 0] = await ledger.plan(other, mappingKind)
    await ledger.markSent(second)
    run = await begin()
    await ledger.landChecked('properties', again)
    await noteExtracted('properties')
    await countPending(ledger.db, run)
    await ledger.settleAll(second, 'confirmed')
    const [third = 0] = await ledger.plan(run, mappingKind)
    await ledger.settleAll(third, 'confirmed')
    expect(await report('properties')).toMatchObject({ pending: 1, sent: 1, confirmed: 1 })
    const row = await ledger.row('properties', 'H-1')
    expect(row.accepted_hash).toEqual(row.desired_hash)
  })
})
