import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { listDifferences, listRowDifferences } from '../../../src/db/differences/list-differences.ts'
import { driftRows } from '../../../src/db/ledger/drift-rows.ts'
import { parkedGroups } from '../../../src/db/ledger/parked-groups.ts'
import { pageOfRows, rowsInState } from '../../../src/db/ledger/rows-in-state.ts'
import { rowsNotAccepted } from '../../../src/db/ledger/rows-not-accepted.ts'
import { newestRuns } from '../../../src/db/runs/newest-runs.ts'
import { tracePartner } from '../../../src/db/trace/trace-partner.ts'
import { hotelValues } from '../../../src/db/values/variable-values.ts'
import { unjudgedRows } from '../../../src/pipeline/preflight/judgements.ts'
import { listChanges } from '../../../src/pipeline/pull/merge/value-history.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(() => ledger.clear())

const megabyte = 1_000_000
const stream = 'custom_property_values'
const requires = { [stream]: [] }

/** Rows with a text of so many characters, which are invalid: their last letter tells one from the other. */
async function land(rows: number, characters: number): Promise<void> {
  await sql`
    with landed as (
      insert into source_row (stream, partner_id, row_key, content, desired_hash)
      select ${stream}, 'H-' || n, 'H-' || n, jsonb_build_object('property_id', 'p', 'value',
          repeat('x', ${characters - 1}::int) || n % 10, 'inputs', jsonb_build_object(
          'short', '1', 'long', repeat('y', ${characters}::int))), substring(sha256(n::text::bytea) for 16)
      from generate_series(1, ${rows}::int) n
      returning *
    )
    insert into acceptance (row_id, partner_id, wanted_hash, checked_hash, judged_by, invalid_reason)
    select row_id, partner_id, desired_hash, desired_hash, 1, 'value is too long' from landed`.execute(ledger.db)
}

async function batches(): Promise<number[]> {
  const found = []
  for await (const rows of unjudgedRows(ledger.db, 2, 500)) found.push(rows.length)
  return found
}

const textOf = (rows: readonly { content: Record<string, unknown> }[]) => some(rows).map(({ content }) => content)

/** What is shown of a long text, one from the other by its hash. */
const shortened = (letter: string) =>
  expect.stringMatching(new RegExp(`^${letter}{1000}… \\(shortened: ${megabyte} characters, MD5 [0-9a-f]{32}\\)$`))
const shown = { property_id: 'p', value: shortened('x'), inputs: { short: '1', long: shortened('y') } }

it('rows with long texts are judged a few at a time, each once, and short ones by the hundred', async () => {
  await land(60, megabyte)
  const long = await batches()
  expect(long.reduce((sum, rows) => sum + rows, 0)).toBe(60)
  expect(Math.max(...long)).toBeLessThan(20)
  await ledger.clear()
  await land(600, 10)
  expect(await batches()).toEqual([500, 100])
})

it('a report and a page of rows show the beginning of long texts, and the list of a verb all of them', async () => {
  await land(2, megabyte)
  expect(textOf(await rowsNotAccepted(ledger.db, requires, 50))).toEqual([shown, shown])
  const { rows } = await pageOfRows(ledger.db, 'invalid', { requires, limit: 50 })
  expect(textOf(rows)).toEqual([shown, shown])
  expect(new Set(textOf(rows).map(({ value }) => value)).size).toBe(2)
  const whole = textOf(await rowsInState(ledger.db, 'invalid', { requires, limit: 50 }))
  expect(whole.map(({ value }) => (value as string).length)).toEqual([megabyte, megabyte])
})

it('the trace of a hotel with a limit shows the beginning of long texts, also of past contents, and else all', async () => {
  await land(1, megabyte)
  await sql`
    update source_row set desired_hash = '\\x02', content = '{"value": "short", "empty": {}, "none": null}'`.execute(
    ledger.db,
  )
  const short = (await tracePartner(ledger.db, 'H-1', requires, [], 1_000))?.rows ?? []
  expect(textOf(short)).toEqual([{ value: 'short', empty: {}, none: null }])
  expect(textOf(short[0]?.past ?? [])).toEqual([shown])
  const whole = (await tracePartner(ledger.db, 'H-1', requires, []))?.rows ?? []
  expect(textOf(whole[0]?.past ?? []).map(({ value }) => (value as string).length)).toEqual([megabyte])
})

it('a list of runs has what each report remarks, and the whole report only where it is asked for', async () => {
  const report = { remarks: ['One row is invalid.'], refused: [{ content: { value: 'x' } }] }
  await ledger.startRun()
  await sql`
    update run set state = 'finished', verdict = 'partial', finished_at = now(),
      report = ${JSON.stringify(report)}::jsonb`.execute(ledger.db)
  expect((await newestRuns(ledger.db, 10)).map((run) => run.report)).toEqual([{ remarks: report.remarks }])
  expect((await newestRuns(ledger.db, 10, { reports: 'whole' })).map((run) => run.report)).toEqual([report])
  const { rows } = await sql`select * from run`.execute(ledger.db)
  const [listed] = await newestRuns(ledger.db, 10, { reports: 'whole' })
  expect(listed).toEqual({ ...(rows[0] as object), destination: null })
})

it('drift shows the beginning of long texts over HTTP, and all of them to the verb', async () => {
  await land(2, megabyte)
  await sql`update acceptance set accepted_hash = wanted_hash, accepted_at = now()`.execute(ledger.db)
  await sql`update source_row set gone_at = now()`.execute(ledger.db)
  expect(textOf(await driftRows(ledger.db, null, 10, 'short'))).toEqual([shown, shown])
  const whole = textOf(await driftRows(ledger.db, stream, 10, 'whole'))
  expect(whole.map(({ value }) => (value as string).length)).toEqual([megabyte, megabyte])
})

it('what differs, what changed and what came back of a hotel show the beginning of long texts over HTTP', async () => {
  await land(1, 10)
  const run = await ledger.startRun()
  await sql`
    update acceptance set accepted_hash = wanted_hash, accepted_at = now(), invalid_reason = null;
    with search as (
      insert into submission (run_id, kind, state, row_count)
      values (${sql.lit(run)}, 'calculators_search', 'settled', 0) returning submission_id
    ), here as (
      insert into company (company_id, name) values (md5('c')::uuid, 'C') returning company_key
    ), named as (
      insert into calculator_variable (variable_id, name) values ('v', 'V') returning variable_key
    ), held as (
      insert into calculator (calculator_id, company_key, type_id, period_year)
      select gen_random_uuid(), company_key, gen_random_uuid(), 2025 from here returning company_key, calculator_key
    ), stored as (
      insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
      select company_key, calculator_key, variable_key, 'o', repeat('y', ${sql.lit(megabyte)}) from held, named
    ), changed as (
      insert into calculator_value_change
        (company_key, calculator_key, variable_key, direction, submission_id, before, after)
      select company_key, calculator_key, variable_key, 'o', submission_id, repeat('x', ${sql.lit(megabyte)}),
        repeat('y', ${sql.lit(megabyte)})
      from held, named, search
    ), mapped as (
      insert into mapping (partner_id, company_id, submission_id) select 'H-1', md5('c')::uuid, submission_id from search
    ), compared as (
      insert into row_difference (row_id, comparison, kind, company_id, sent, stored, found_by_run)
      select row_id, 'property_values', 'different', md5('c')::uuid, repeat('x', ${sql.lit(megabyte)}),
        repeat('y', ${sql.lit(megabyte)}), ${sql.lit(run)}
      from source_row
    )
    insert into input_difference (kind, company_id, period_year, variable_id, sent, stored, found_by_run, found_at)
    values ('foreign', md5('c')::uuid, 2025, 'v', null, repeat('y', ${sql.lit(megabyte)}), ${sql.lit(run)}, now())`.execute(
    ledger.db,
  )
  const all = { kinds: ['absent', 'different', 'foreign'] } as const
  const listed = async (texts: 'short' | 'whole') => [
    ...(await listDifferences(ledger.db, all, 10, texts)).map(({ sent, stored }) => [sent, stored]),
    ...(await listRowDifferences(ledger.db, all, 10, texts)).map(({ sent, stored }) => [sent, stored]),
    ...(await listChanges(ledger.db, {}, 10, texts)).map(({ before, after }) => [before, after]),
  ]
  const cut = [
    [null, shortened('y')],
    [shortened('x'), shortened('y')],
    [shortened('x'), shortened('y')],
  ]
  expect(await listed('short')).toEqual(cut)
  const lengths = (await listed('whole')).map((texts) => texts.map((text) => text?.length ?? null))
  expect(lengths).toEqual(cut.map((texts) => texts.map((text) => (text === null ? null : megabyte))))
  expect((await hotelValues(ledger.db, 'H-1', 10)).map(({ value }) => value)).toEqual([shortened('y')])
  const traced = await tracePartner(ledger.db, 'H-1', requires, [], 1_000)
  expect(traced?.differences.map(({ stored }) => stored)).toEqual([shortened('y')])
  expect(traced?.row_differences.map(({ sent }) => sent)).toEqual([shortened('x')])
})

it('rows that wait for one with a long reason show the beginning of it over HTTP, and so does the trace of their hotel', async () => {
  await land(1, 10)
  await sql`update acceptance set invalid_reason = repeat('x', ${sql.lit(megabyte)})`.execute(ledger.db)
  await ledger.landChecked('framework_answers', [{ partner_id: 'H-1', content: { value: '1' } }])
  const waiting = { ...requires, framework_answers: [stream] }
  const reasonOf = (rows: readonly { reason: string | null }[]) => some(rows).map(({ reason }) => reason?.length)
  const short = 2_000
  const paged = await pageOfRows(ledger.db, 'parked', { requires: waiting, limit: 10 })
  expect(reasonOf(paged.rows)[0]).toBeLessThan(short)
  expect(paged.rows[0]?.reason).toContain(`(shortened: ${megabyte} characters`)
  expect(reasonOf((await parkedGroups(ledger.db, waiting, {}, 10, 'short')).groups)[0]).toBeLessThan(short)
  const traced = (await tracePartner(ledger.db, 'H-1', waiting, [], 1_000))?.rows ?? []
  expect(traced.map(({ state }) => state).toSorted()).toEqual(['invalid', 'parked'])
  for (const length of reasonOf(traced)) expect(length).toBeLessThan(short)
  const whole = [
    ...(await rowsInState(ledger.db, 'parked', { requires: waiting, limit: 10 })),
    ...(await parkedGroups(ledger.db, waiting, {}, 10, 'whole')).groups,
    ...((await tracePartner(ledger.db, 'H-1', waiting, []))?.rows ?? []),
  ]
  for (const length of reasonOf(whole)) expect(length).toBeGreaterThanOrEqual(megabyte)
})
