import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { listDifferences, listRowDifferences } from '../../../src/db/differences/list-differences.ts'
import { tracePartner } from '../../../src/db/trace/trace-partner.ts'
import { noteComparison } from '../../../src/pipeline/compare/findings.ts'
import { nightferry, workingFolder } from '../../cli/nightferry-process.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger, requestElsewhere } from './ledger.ts'

const company = '00000000-0000-4000-8000-000000000001'
const inputKind = { kind: 'calculator_inputs', streams: ['calculator_inputs'], partitionBy: null }
const kinds = {
  framework_answers: { options: {}, content: (value: string) => ({ value }) },
  calculator_inputs: { options: inputKind, content: (f: string) => ({ inputs: { f } }) },
}
type Stream = keyof typeof kinds

const ledger = await ofThisFile(openLedger())
beforeEach(async () => {
  await ledger.clear()
  await emptyTables(ledger.db, ['row_difference', 'row_comparison', 'input_difference', 'input_comparison'])
})

const land = (stream: Stream, value: string) =>
  ledger.landChecked(stream, [{ partner_id: 'H-1', content: kinds[stream].content(value) }])

/** Sends the row in a run of its own. @returns the submission. */
async function sent(stream: Stream): Promise<number> {
  const [id = 0] = await ledger.plan(await ledger.startRun(), kinds[stream].options)
  await ledger.markSent(id)
  return id
}

/** A row that was accepted, came otherwise, was rejected so, and is again what was accepted. */
async function changedBack(stream: Stream, outcome = 'confirmed') {
  await land(stream, '70')
  const accepted = await sent(stream)
  await ledger.settleAll(accepted, outcome)
  await land(stream, '700')
  const rejected = await sent(stream)
  await ledger.settleAll(rejected, 'rejected')
  await land(stream, '70')
  expect(await ledger.row(stream, 'H-1')).toMatchObject({ pending: false, outcome_submission: rejected })
  return { accepted, rejected }
}

const traced = async () => (await tracePartner(ledger.db, 'H-1', {}, []))?.rows

async function traceWords(): Promise<string> {
  await using folder = await workingFolder()
  return (await nightferry(folder.path, ['trace', 'H-1'], { DATABASE_URL: ledger.url })).stdout
}

/** A comparison that finds what was sent of a row absent, after everything that was sent. */
async function findAbsent(stream: Stream): Promise<void> {
  const run = await ledger.startRun()
  const row = sql`(select row_id from source_row where stream = ${stream})`
  if (stream === 'calculator_inputs') {
    const search = await ledger.db
      .insertInto('submission')
      .values({ run_id: run, kind: 'calculators_search', state: 'settled', row_count: 0 })
      .returning('submission_id')
      .executeTakeFirstOrThrow()
    await sql`insert into input_comparison (run_id, submission_id) values (${run}, ${search.submission_id})`.execute(
      ledger.db,
    )
    await sql`
      insert into input_difference
        (kind, company_id, period_year, period_month, variable_id, row_id, sent, cause, found_by_run, found_at)
      values ('absent', ${company}, 2025, 1, 'f', ${row}, '70', 'value_not_returned', ${run}, now())`.execute(ledger.db)
    return
  }
  const counts = { rows: 1, equal: 0, absent: 1, different: 0, unjudged: 0, unsettled: 0, new: 1 }
  const found = { run_id: run, kind: 'answers', submission_id: null, withheld: null, suspicious: false, ...counts }
  await ledger.inTransaction((trx) => noteComparison(trx, found))
  await sql`
    insert into row_difference (row_id, comparison, kind, company_id, sent, cause, found_by_run)
    values (${row}, 'answers', 'absent', ${company}, '70', 'value_not_returned', ${run})`.execute(ledger.db)
}

describe('a row that is again what was accepted, after the service rejected another content of it', () => {
  test.each([
    ['confirmed', 'confirmed by a result file'],
    ['inferred', 'inferred: no error names it'],
  ])('the trace names what accepted it, and how certain that is: %s', async (outcome, words) => {
    const { accepted } = await changedBack('framework_answers', outcome)
    expect(await traced()).toMatchObject([{ state: 'accepted', outcome, submission_id: accepted }])
    expect(await traceWords()).toMatch(new RegExp(`accepted since .+ \\(submission ${accepted}\\), ${words}\\n`))
  })

  test('the trace names nothing where that is forgotten', async () => {
    const { accepted } = await changedBack('framework_answers')
    await ledger.db.deleteFrom('submission_row').where('submission_id', '=', accepted).execute()
    expect(await traced()).toMatchObject([{ state: 'accepted', outcome: null, submission_id: null }])
    expect(await traceWords()).toMatch(/1 row: accepted since \S+ \S+\n/)
  })

  test('the trace names no request to another destination', async () => {
    const { accepted } = await changedBack('framework_answers')
    await using _elsewhere = await requestElsewhere(ledger, { state: 'settled' })
    await sql`
      insert into submission_row (submission_id, row_id, sent_hash, outcome)
      select max(submission_id), row_id, accepted_hash, 'confirmed' from acceptance, submission group by row_id, accepted_hash`.execute(
      ledger.db,
    )
    expect(await traced()).toMatchObject([{ state: 'accepted', submission_id: accepted }])
    await ledger.db
      .deleteFrom('submission_row')
      .where('submission_id', '>', accepted + 1)
      .execute()
  })

  test('the trace names what accepted it while the other content is still on the way', async () => {
    await land('framework_answers', '70')
    const accepted = await sent('framework_answers')
    await ledger.settleAll(accepted, 'confirmed')
    await land('framework_answers', '700')
    const onTheWay = await sent('framework_answers')
    await land('framework_answers', '70')
    expect(await ledger.row('framework_answers', 'H-1')).toMatchObject({ pending: false, held_by: onTheWay })
    expect(await traced()).toMatchObject([{ state: 'accepted', outcome: 'confirmed', submission_id: accepted }])
  })

  test.each<Stream>(['framework_answers', 'calculator_inputs'])(
    'a difference of %s names what accepted it',
    async (stream) => {
      const { accepted } = await changedBack(stream)
      await findAbsent(stream)
      const filter = { kinds: ['absent', 'different'] } as const
      const listed = [
        ...(await listRowDifferences(ledger.db, filter, 10, 'whole')),
        ...(await listDifferences(ledger.db, filter, 10, 'whole')),
      ]
      expect(listed).toMatchObject([{ kind: 'absent', submission_id: accepted }])
    },
  )
})
