import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { planKind } from '../../../src/db/ledger/plan-kind.ts'
import { releaseResends, releaseRetries } from '../../../src/db/ledger/rows-again.ts'
import { releaseByPolicy } from '../../../src/db/ledger/rows-to-retry.ts'
import { plannedRequests, plannedRows, rememberRejected } from '../../../src/pipeline/plan/planned-requests.ts'
import { openLedger } from '../../db/ledger/ledger.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(() => ledger.clear())

it('the plan tells rows that a policy sends again from those that a person does, and from new ones', async () => {
  const named = (partner_id: string) => ({ partner_id, content: { name: partner_id } })
  await ledger.landChecked('properties', ['H-1', 'H-2', 'H-3'].map(named))
  await sql`
    update acceptance set refused_hash = wanted_hash, outcome = 'rejected', outcome_code = 'NotFound', outcome_at = now()
    where partner_id in ('H-1', 'H-2')`.execute(ledger.db)
  await sql`update acceptance set retry_action = 1 where partner_id = 'H-2'`.execute(ledger.db)
  const runId = await ledger.startRun()
  const why = await ledger.inTransaction(async (trx) => {
    await rememberRejected(trx)
    await releaseRetries(trx, streamNames)
    await releaseByPolicy(
      trx,
      streamNames,
      [{ stream: null, code: 'NotFound', after_ms: 0, times: null }],
      new Date(Date.now() + 60_000),
    )
    await planKind(trx, {
      judgesProperties: false,
      runId,
      kind: 'company_mappings',
      streams: ['properties'],
      kindStreams: ['properties'],
      requires: {},
      partitionBy: null,
      maxRows: 100,
      requests: 10,
      sweep: true,
    })
    const [request] = await plannedRequests(trx, runId)
    await sql`drop table planned_rejected`.execute(trx)
    return request?.streams.map((stream) => stream.why)
  })
  expect(why?.toSorted()).toEqual(['new', 'retried', 'sent again by policy'])
})

it('the plan says of a row that changed, and was rejected or not, why it goes out although a resend is asked for', async () => {
  const called = (name: string) => ['H-1', 'H-2', 'H-3'].map((partner_id) => ({ partner_id, content: { name } }))
  await ledger.landChecked('properties', called('accepted'), true)
  await sql`update acceptance set accepted_at = clock_timestamp(), outcome = 'confirmed'`.execute(ledger.db)
  await ledger.landChecked('properties', called('changed').slice(0, 2))
  await sql`
    update acceptance set refused_hash = wanted_hash, outcome = 'rejected', outcome_code = 'NotFound'
    where partner_id = 'H-2'`.execute(ledger.db)
  await ledger.askResend()
  const runId = await ledger.startRun()
  const rows = await ledger.inTransaction(async (trx) => {
    await rememberRejected(trx)
    await releaseResends(trx, {}, streamNames)
    await releaseRetries(trx, streamNames)
    await planKind(trx, {
      ...{ judgesProperties: false, runId, kind: 'company_mappings', requires: {}, partitionBy: null },
      ...{ streams: ['properties'], kindStreams: ['properties'], maxRows: 100, requests: 10, sweep: true },
    })
    const planned = await plannedRows(trx, runId, 10)
    await sql`drop table planned_rejected`.execute(trx)
    return planned
  })
  expect(rows.map(({ partner_id, why }) => [partner_id, why])).toEqual([
    ['H-1', 'changed'],
    ['H-2', 'retried'],
    ['H-3', 'retried'],
  ])
})

it('the plan tells rows that go out again because one that was rejected with them has changed', async () => {
  const input = (row_key: string, value: string) => ({ partner_id: 'H-1', row_key, content: { inputs: { a: value } } })
  await ledger.landChecked('calculator_inputs', [input('one', '1'), input('two', '1')])
  const kind = { kind: 'calculators', streams: ['calculator_inputs'], partitionBy: null, judgesProperties: true }
  const [sent = 0] = await ledger.plan(await ledger.startRun(), kind)
  await ledger.markSent(sent)
  await ledger.settleAll(sent, 'rejected')
  await ledger.landChecked('calculator_inputs', [input('one', '2')])
  const runId = await ledger.startRun()
  const [planned = 0] = await ledger.plan(runId, kind)
  const streams = await ledger.inTransaction(async (trx) => {
    await rememberRejected(trx)
    const requests = await plannedRequests(trx, runId)
    await sql`drop table planned_rejected`.execute(trx)
    return requests.find(({ submission_id }) => submission_id === planned)?.streams
  })
  expect(streams?.map(({ why }) => why)).toEqual([
    'changed since it was rejected',
    'rejected with a row that has changed',
  ])
})

it.each([
  ['row_reverted', 'changed back to what may have been overwritten'],
  ['row_returned', 'there again after it was gone'],
  ['mapping_moved', 'its hotel is another company now'],
  ['sent_again', 'retried'],
  ['tried_again', 'retried'],
])('the plan tells a row whose acceptance was forgotten as %s from a new one: %s', async (code, why) => {
  const named = (partner_id: string) => ({ partner_id, content: { name: partner_id } })
  await ledger.landChecked('properties', ['H-1', 'H-2'].map(named))
  await sql`
    update acceptance set outcome_code = ${code}, outcome_at = now() where partner_id = 'H-1'`.execute(ledger.db)
  const runId = await ledger.startRun()
  await ledger.plan(runId, { kind: 'company_mappings', streams: ['properties'], partitionBy: null })
  const { streams, rows } = await ledger.inTransaction(async (trx) => {
    await rememberRejected(trx)
    const [request] = await plannedRequests(trx, runId)
    const listed = await plannedRows(trx, runId, 10)
    await sql`drop table planned_rejected`.execute(trx)
    return { streams: request?.streams, rows: listed }
  })
  expect(rows.map((row) => [row.partner_id, row.why])).toEqual([
    ['H-1', why],
    ['H-2', 'new'],
  ])
  expect(streams).toEqual([why, 'new'].toSorted().map((each) => ({ stream: 'properties', why: each, rows: 1 })))
})
