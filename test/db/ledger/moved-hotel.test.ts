import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { releaseResends } from '../../../src/db/ledger/rows-again.ts'
import { settleRows } from '../../../src/db/ledger/settle-outcomes.ts'
import { storeMappings } from '../../../src/db/ledger/store-mappings.ts'
import { streamReports } from '../../../src/db/runs/report-rows.ts'
import { adoptUnfinished } from '../../../src/db/runs/run-life.ts'
import { countPending } from '../../../src/pipeline/preflight/preflight.ts'
import { imbalances } from '../../../src/pipeline/report/report.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(() => ledger.clear())

const requires = { framework_answers: ['properties'], properties: [] }
const mappingKind = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }
const company = (number: number) => `00000000-0000-4000-8000-00000000000${number}`
const answer = (row_key: string, value: string) => ({
  partner_id: 'H-1',
  row_key,
  content: { framework_id: 'f', value },
})

/** A run that takes over what the one before left in flight, and has read the partner's streams. */
async function begin(): Promise<number> {
  const id = await ledger.startRun()
  await ledger.inTransaction((trx) => adoptUnfinished(trx, id, ['calculators_search']))
  for (const stream of ['properties', 'framework_answers']) {
    await sql`
      insert into run_stream (run_id, stream, read, folded, unchanged, changed, null_cursor)
      values (${id}, ${stream}, 0, 0, 0, 0, 0)`.execute(ledger.db)
  }
  await countPending(ledger.db, id)
  return id
}

/** The service says which company the hotel is. */
async function settleMapping(runId: number, to: string): Promise<void> {
  const [id = 0] = await ledger.plan(runId, { ...mappingKind, requires })
  await ledger.markSent(id)
  await ledger.inTransaction(async (trx) => {
    await sql`
      insert into staged_outcome (submission_id, partner_id, accepted, company_id) values (${id}, 'H-1', true, ${to})`.execute(
      trx,
    )
    await settleRows(trx, id, true, async () => {
      await sql`insert into verdict (row_id, outcome) select row_id, 'confirmed' from carried_row`.execute(trx)
      await storeMappings(trx, id)
      return { outcome: 'inferred' }
    })
    await sql`update submission set state = 'settled' where submission_id = ${id}`.execute(trx)
  })
}

/** A run in which the hotel was mapped, and two answers of it accepted. */
async function twoAccepted(): Promise<number> {
  const first = await begin()
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'a' } }])
  await settleMapping(first, company(1))
  await ledger.landChecked('framework_answers', [answer('one', '1'), answer('two', '1')])
  for (const id of await ledger.plan(first, { requires })) {
    await ledger.markSent(id)
    await ledger.settleAll(id, 'confirmed')
  }
  return first
}

it('counts a row of a hotel that moves once, also where the run took its request over from one that failed', async () => {
  const first = await twoAccepted()
  await ledger.landChecked('framework_answers', [answer('one', '2')])
  const [left = 0] = await ledger.plan(first, { requires })
  expect(await ledger.keysOf(left)).toEqual(['one'])
  await ledger.markSent(left)

  const next = await begin()
  await ledger.settleAll(left, 'confirmed')
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'b' } }])
  await sql`update run_stream set pending = 1 where run_id = ${next} and stream = 'properties'`.execute(ledger.db)
  await settleMapping(next, company(2))
  await ledger.landChecked('framework_answers', [answer('one', '2'), answer('two', '1')])
  for (const id of await ledger.plan(next, { requires })) {
    await ledger.markSent(id)
    await ledger.settleAll(id, 'confirmed')
  }
  const reports = await ledger.db.transaction().execute((trx) => streamReports(trx, next, requires))
  expect(imbalances(reports)).toEqual([])
  expect(reports.find(({ stream }) => stream === 'framework_answers')).toMatchObject({
    pending: 2,
    sent: 2,
    confirmed: 2,
  })
})

it('a move keeps what the old company holds of rows that were marked to be sent again, also of one that changed since', async () => {
  await twoAccepted()
  await ledger.askResend()
  const next = await begin()
  await releaseResends(ledger.db, requires, streamNames)
  await ledger.landChecked('framework_answers', [answer('one', '2')])
  await settleMapping(next, company(2))
  const { rows } = await sql<{ content: unknown; company_id: string }>`
    select content, company_id from left_behind order by row_id`.execute(ledger.db)
  expect(rows).toEqual(
    [answer('one', '1'), answer('two', '1')].map(({ content }) => ({ content, company_id: company(1) })),
  )
  const { rows: changes } = await sql<{ rows: number }>`select rows from mapping_change`.execute(ledger.db)
  expect(changes).toEqual([{ rows: 2 }])
})

it('a move takes no doubt about a row that was never accepted along to the new company', async () => {
  const first = await twoAccepted()
  await ledger.landChecked('framework_answers', [answer('one', '1'), answer('two', '1'), answer('new', '1')])
  const [lost = 0] = await ledger.plan(first, { requires })
  await ledger.markSent(lost)
  await ledger.settleAll(lost, 'unknown')
  expect(await ledger.row('framework_answers', 'new')).toMatchObject({ perhaps_taken_at: expect.any(Date) })
  const next = await begin()
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'b' } }])
  await settleMapping(next, company(2))
  expect(await ledger.row('framework_answers', 'new')).toMatchObject({
    perhaps_taken_at: null,
    outcome_code: 'mapping_moved',
  })
})

it.each<[string, () => Promise<unknown>, string[]]>([
  ['had returned', () => returned([answer('one', '1'), answer('two', '1')]), ['1', '1']],
  ['had returned with something else', () => returned([answer('one', '2'), answer('two', '3')]), ['1', '1']],
  ['had changed in flight and returned', () => changedInFlight(), ['2', '1']],
  ['were sent to an end that nobody knows', () => settledNext('unknown'), ['1', '1']],
  ['were rejected after they had returned', () => rejectedAfterReturn(), ['1', '1']],
])('a move keeps what the old company holds of rows that %s', async (_, change, kept) => {
  await twoAccepted()
  await change()
  const next = await begin()
  await settleMapping(next, company(2))
  const { rows } = await sql`
    select content ->> 'value' as value, company_id, why from drift order by row_key`.execute(ledger.db)
  expect(rows).toEqual(kept.map((value) => ({ value, company_id: company(1), why: 'remapped' })))
  const { rows: changes } = await sql`select rows from mapping_change`.execute(ledger.db)
  expect(changes).toEqual([{ rows: 2 }])
  expect(await ledger.row('framework_answers', 'one')).toMatchObject({
    ...{ outcome_code: 'mapping_moved', accepted_at: null, refused_hash: null },
  })
})

/** All rows of the hotel go, and come back like this. */
async function returned(answers: ReturnType<typeof answer>[]): Promise<void> {
  await sql`update source_row set gone_at = clock_timestamp()`.execute(ledger.db)
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'b' } }])
  await ledger.landChecked('framework_answers', answers)
}

/** Both rows say something else in the next run, and it comes to this. */
async function settledNext(outcome: string): Promise<void> {
  const run = await begin()
  await ledger.landChecked('framework_answers', [answer('one', '2'), answer('two', '2')])
  for (const id of await ledger.plan(run, { requires })) {
    await ledger.markSent(id)
    await ledger.settleAll(id, outcome)
  }
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'b' } }])
}

async function rejectedAfterReturn(): Promise<void> {
  await returned([answer('one', '2'), answer('two', '2')])
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'a' } }], true)
  await settledNext('rejected')
}

/** What a row said when it was accepted is not what was accepted. */
async function changedInFlight(): Promise<void> {
  const run = await begin()
  await ledger.landChecked('framework_answers', [answer('one', '2')])
  const [id = 0] = await ledger.plan(run, { requires })
  await ledger.markSent(id)
  await ledger.landChecked('framework_answers', [answer('one', '3')])
  await ledger.settleAll(id, 'confirmed')
  await returned([answer('one', '4'), answer('two', '1')])
}

it('a move judges again, on both sides, what was invalid because two hotels were one company', async () => {
  const run = await begin()
  await ledger.landChecked('properties', [
    { partner_id: 'H-1', content: { name: 'a' } },
    { partner_id: 'H-2', content: { name: 'b' } },
  ])
  await settleMapping(run, company(1))
  await sql`
    insert into mapping (partner_id, company_id, submission_id)
    select 'H-2', company_id, submission_id from mapping where partner_id = 'H-1'`.execute(ledger.db)
  await ledger.landChecked('framework_answers', [
    answer('one', '1'),
    { ...answer('two', '2'), partner_id: 'H-2' },
    { ...answer('three', '3'), partner_id: 'H-2' },
  ])
  await sql`
    insert into row_finding (row_id, kind, other_row_id, row_hash, other_hash, detail)
    select one.row_id, 'two_partner_ids', two.row_id, one.desired_hash, two.desired_hash, 'they differ'
    from source_row one, source_row two where one.row_key = 'one' and two.row_key = 'two'`.execute(ledger.db)
  await sql`
    update acceptance set invalid_reason = 'they differ'
    where row_id in (select row_id from source_row where row_key in ('one', 'two'))`.execute(ledger.db)
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'c' } }])
  await settleMapping(run, company(3))
  const unjudged = await ledger.db
    .selectFrom('ledger')
    .select('row_key')
    .where('unjudged', '=', true)
    .orderBy('row_key')
    .execute()
  expect(unjudged.map(({ row_key }) => row_key)).toEqual(['one', 'two'])
})
