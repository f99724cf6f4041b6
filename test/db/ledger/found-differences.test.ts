import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { headlines, rowGroups } from '../../../src/cli/show/row-words.ts'
import { streamNames } from '../../../src/config/known-names.ts'
import { listDifferences, listRowDifferences } from '../../../src/db/differences/list-differences.ts'
import { countRepairable, markForRepair } from '../../../src/db/ledger/found-otherwise.ts'
import { countResendable, type ResendFilter, releaseResends } from '../../../src/db/ledger/rows-again.ts'
import { storeSkew } from '../../../src/db/service-key/service-key.ts'
import { tracePartner } from '../../../src/db/trace/trace-partner.ts'
import { noteComparison } from '../../../src/pipeline/compare/findings.ts'
import { nightferry, workingFolder } from '../../cli/nightferry-process.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
let run: number
beforeEach(async () => {
  await ledger.clear()
  await emptyTables(ledger.db, [
    'row_difference',
    'row_comparison',
    'input_difference',
    'input_comparison',
    'service_key',
    'action',
  ])
  run = await ledger.startRun()
  await ledger.landChecked('framework_answers', [{ partner_id: 'H-1', content: { value: '1' } }], true)
  await ledger.landChecked('calculator_inputs', [{ partner_id: 'H-1', content: { inputs: { f: '1' } } }], true)
  await acceptAsSent(new Date())
})

const company = '00000000-0000-4000-8000-000000000001'
const rowOf = (stream: string) => sql`(select row_id from source_row where stream = ${stream})`

/** All rows are accepted now, by a request that left then. */
async function acceptAsSent(at: Date): Promise<void> {
  await sql`
    with sent as (
      insert into submission (run_id, kind, state, row_count, attempted_at)
      values (${run}, 'framework_answers', 'settled', 0, ${at}) returning submission_id)
    update acceptance
    set accepted_at = clock_timestamp(), outcome = 'inferred', outcome_submission = sent.submission_id
    from sent`.execute(ledger.db)
}

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
  ...(await listDifferences(ledger.db, filter, 10, 'whole')).map(({ variable_id }) => variable_id),
  ...(await listRowDifferences(ledger.db, filter, 10, 'whole')).map(({ stream }) => stream),
]

async function resend(): Promise<void> {
  await ledger.askResend()
  await releaseResends(ledger.db, {}, streamNames)
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

  it('a value that was changed at the service is left alone where it was changed before its request was settled, and after it left', async () => {
    await acceptAsSent(minutes(-14 * 60))
    await find(minutes(-5 * 60))
    expect(await repairable()).toEqual([])
    await sql`update row_difference set changed_there_at = ${minutes(-15 * 60)}`.execute(ledger.db)
    expect(await repairable()).toMatchObject([{ kind: 'different', rows: 1 }])
  })

  it('a value that was changed at the service is left alone where nobody knows any more by which request ours was accepted', async () => {
    await find(minutes(-5))
    await sql`update acceptance set outcome = 'rejected'`.execute(ledger.db)
    expect(await repairable()).toEqual([])
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

/** A folder whose configuration reads the streams. */
async function readingFolder(): ReturnType<typeof workingFolder> {
  const folder = await workingFolder()
  const stream = { query: 'select', cursor: 'x' }
  const streams = { framework_answers: stream, calculator_inputs: stream }
  await writeFile(join(folder.path, 'nightferry.yaml'), JSON.stringify({ streams }))
  return folder
}

/** `nightferry resend` as a person runs it. */
async function verb(...args: string[]) {
  await using folder = await readingFolder()
  return await nightferry(folder.path, ['resend', ...args], { DATABASE_URL: ledger.url })
}

describe('a resend that leaves out what was found', () => {
  it.each([
    ['did not judge', 'update row_difference set unjudged = true; update input_difference set unjudged = true'],
    ['withheld', `update row_comparison set withheld = 'x'; update input_comparison set withheld = 'x'`],
  ])('a resend that leaves out what the newest comparison %s says how much that is', async (_, since) => {
    await find()
    await ledger.pool.query(since)
    const { stdout } = await verb('--difference', 'any')
    expect(stdout).toContain('2 rows found so before, which the newest comparison did not judge')
    expect(stdout).not.toContain('No accepted row is like that')
    const counts = { total: 0, later: 0, unjudged: 2, mixed: 0 }
    expect(JSON.parse((await verb('--difference', 'any', '--json')).stdout)).toMatchObject(counts)
    expect((await verb('--difference', 'absent')).stdout).toContain('No accepted row is like that')
  })

  it('a resend that leaves out calculators which hold both kinds says what sends them', async () => {
    await find()
    await sql`
      insert into input_difference (kind, company_id, period_year, period_month, variable_id, row_id, sent, cause, found_by_run, found_at)
      values ('absent', ${company}, 2025, 1, 'g', ${rowOf('calculator_inputs')}, '1', 'value_not_returned', ${run}, now())`.execute(
      ledger.db,
    )
    const { stdout } = await verb('--difference', 'absent')
    expect(stdout).toContain('1 calculator with other inputs that are different: --difference different')
    expect(stdout).not.toContain('No accepted row is like that')
    await sql`update acceptance set accepted_at = now() + interval '1 minute', outcome_submission = null`.execute(
      ledger.db,
    )
    expect((await verb('--difference', 'absent')).stdout).toContain('No accepted row is like that')
  })
})

describe('a resend of what a comparison found otherwise', () => {
  const later = new Date(Date.now() + 3_600_000)
  const counted = async (filter: ResendFilter) =>
    (await countResendable(ledger.db, streamNames, filter)).map(({ stream, rows }) => `${stream} ${rows}`)
  const both = ['calculator_inputs 1', 'framework_answers 1']

  it('a resend of what a comparison found otherwise takes what the run names in its report', async () => {
    await find()
    expect((await ledger.inTransaction(countRepairable)).map(({ stream, rows }) => `${stream} ${rows}`)).toEqual(both)
    expect(await counted({ difference: 'different' })).toEqual(both)
    expect(await counted({ difference: 'any' })).toEqual(both)
    expect(await counted({ difference: 'absent' })).toEqual([])
  })

  it.each([
    [
      'no comparison judged since',
      'update row_difference set unjudged = true; update input_difference set unjudged = true',
    ],
    [
      'the newest comparison withheld',
      `update row_comparison set withheld = 'x'; update input_comparison set withheld = 'x'`,
    ],
    ['was accepted since', 'update acceptance set accepted_at = clock_timestamp()'],
  ])('a resend of what a comparison found otherwise leaves out what %s', async (_, since) => {
    await find()
    await ledger.pool.query(since)
    expect(await counted({ difference: 'any' })).toEqual([])
    expect(await counted({ difference: 'any', alsoLater: true })).toEqual([])
    expect(await counted({ stream: 'framework_answers' })).toEqual(['framework_answers 1'])
  })

  it('a resend of what a comparison found otherwise does not take a calculator for absent that also holds what differs', async () => {
    await find()
    await sql`
      insert into input_difference (kind, company_id, period_year, period_month, variable_id, row_id, sent, cause, found_by_run, found_at)
      values ('absent', ${company}, 2025, 1, 'g', ${rowOf('calculator_inputs')}, '1', 'value_not_returned', ${run}, now())`.execute(
      ledger.db,
    )
    expect(await counted({ difference: 'absent' })).toEqual([])
    expect(await counted({ difference: 'different' })).toEqual(both)
  })

  it('a resend of what a comparison found otherwise includes what was sent again over it by itself, and so does the report', async () => {
    await find()
    const one = { stream: 'framework_answers', kind: 'different' } as const
    await ledger.inTransaction((trx) => markForRepair(trx, 1, run, one))
    await sql`update acceptance set retry_action = null`.execute(ledger.db)
    await ledger.landChecked('framework_answers', [{ partner_id: 'H-2', content: { value: '1' } }], true)
    await sql`update acceptance set accepted_at = '2020-01-01'`.execute(ledger.db)
    await sql`
      insert into row_difference (row_id, comparison, kind, company_id, sent, stored, found_by_run)
      select row_id, 'answers', 'different', ${company}, '1', '2', ${run} from source_row where partner_id = 'H-2'`.execute(
      ledger.db,
    )
    expect(await ledger.inTransaction(countRepairable)).toContainEqual({ ...one, rows: 1, found: 2, known: 2 })
    expect(await counted({ ...one, difference: one.kind })).toEqual(['framework_answers 2'])
  })

  it('a resend of what a comparison found otherwise leaves what the service changed later, and says how much that is', async () => {
    await find(later)
    expect(await counted({ difference: 'different' })).toEqual(['calculator_inputs 1'])
    expect(await counted({ difference: 'different', alsoLater: true })).toEqual(both)
    await using folder = await readingFolder()
    const call = (...args: string[]) =>
      nightferry(folder.path, ['resend', '--stream', 'framework_answers', ...args], { DATABASE_URL: ledger.url })
    const left = await call('--difference', 'different')
    expect(left).toMatchObject({ code: 0, stdout: expect.stringContaining('1 more row has that difference') })
    expect(left.stdout).toContain('--also-later')
    expect(JSON.parse((await call('--difference', 'different', '--json')).stdout)).toMatchObject({ total: 0, later: 1 })
    expect(await call('--also-later')).toMatchObject({ code: 2, stderr: expect.stringContaining('--difference') })
    const all = await call('--difference', 'different', '--also-later')
    expect(all.stdout).toContain('1 row marked')
    expect(all.stdout).not.toContain('1 more row')
    const { asked } = await ledger.db
      .selectFrom('action')
      .select('asked')
      .where('rows', '=', 1)
      .executeTakeFirstOrThrow()
    expect(asked).toEqual({ stream: 'framework_answers', difference: 'different', alsoLater: 'true' })
  })
})
