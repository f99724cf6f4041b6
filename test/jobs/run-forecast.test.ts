import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { runningRun } from '../../src/db/runs/run-life.ts'
import { forecastOf, type RunForecast } from '../../src/jobs/run-forecast.ts'
import { searchKind } from '../../src/pipeline/streams/kind-names.ts'
import { type Ledger, openLedger } from '../db/ledger/ledger.ts'
import { contract } from '../exchange/test-client.ts'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger()
})
beforeEach(() => ledger.clear())
afterAll(() => ledger.close())

const stream = { query: 'select', cursor: 'x' }
const config = settings.parse({
  jobs: { 'nightly-sync': { schedule: '0 2 * * *', timeZone: 'UTC', finishBy: '04:00' } },
  streams: {
    properties: { ...stream, requires: [] },
    framework_answers: { ...stream, requires: ['properties'] },
    omissions: { ...stream, requires: ['framework_answers'] },
    calculator_inputs: { ...stream, requires: [] },
    calculator_settings: { ...stream, requires: [] },
  },
})
const steps = ['reference', 'extract', 'preflight', 'push', 'pull', 'reconcile', 'compare']
const usualMinutes: Record<string, number> = { push: 10, pull: 180 }

async function run(day: string, state: 'finished' | 'running', step: string): Promise<number> {
  const verdict = state === 'finished' ? 'succeeded' : null
  const { rows } = await sql<{ run_id: number }>`
    insert into run (job, trigger, scheduled_for, state, step, verdict, started_at, finished_at)
    values ('nightly-sync', 'schedule', ${`${day}T02:00Z`}, ${state}, ${step}, ${verdict}, ${`${day}T02:00Z`},
            ${state === 'finished' ? `${day}T05:30Z` : null})
    returning run_id`.execute(ledger.db)
  return rows[0]?.run_id ?? 0
}

/** Three whole nights, whose push took 10 minutes, and their pull 180. */
async function nightsBefore(): Promise<void> {
  for (const day of ['2026-11-11', '2026-11-12', '2026-11-13']) {
    const id = await run(day, 'finished', 'report')
    for (const step of steps) {
      await sql`
        insert into run_step (run_id, step, began_at, ended_at)
        values (${id}, ${step}, ${`${day}T02:00Z`},
                ${`${day}T02:00Z`}::timestamptz + ${usualMinutes[step] ?? 0} * interval '1 minute')`.execute(ledger.db)
    }
  }
}

/** Tonight's run, at a step that it began at 02:02. */
async function tonight(step: string): Promise<number> {
  const id = await run('2026-11-21', 'running', step)
  for (const done of steps.slice(0, steps.indexOf(step))) {
    await sql`
      insert into run_step (run_id, step, began_at, ended_at)
      values (${id}, ${done}, '2026-11-21T02:00Z', '2026-11-21T02:02Z')`.execute(ledger.db)
  }
  return id
}

async function forecastAt(time: string): Promise<RunForecast> {
  const under = await runningRun(ledger.db, 'nightly-sync')
  if (under === undefined) throw new Error('no run is under way')
  return await forecastOf(ledger.db, { config, contract }, under, new Date(`2026-11-21T${time}Z`))
}

const rowsOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({ partner_id: `${name}-${at}`, content: { name: 'a' } }))
const submission = async (run_id: number, kind: string, state: 'settled' | 'accepted', row_count = 0) =>
  (
    await ledger.db
      .insertInto('submission')
      .values({ run_id, kind, state, row_count })
      .returning('submission_id')
      .executeTakeFirstOrThrow()
  ).submission_id

it('a push is done as far as the rows are settled that it sends: those that no run sends do not put its end off', async () => {
  await nightsBefore()
  await ledger.landChecked('properties', [...rowsOf('invalid', 20), ...rowsOf('refused', 20), ...rowsOf('held', 20)])
  await ledger.landChecked('properties', rowsOf('sent', 90), true)
  await ledger.landChecked('properties', rowsOf('left', 4))
  // They follow the rows of their hotels: six of them tonight, the others when their hotels are well, or there.
  const kept = [...rowsOf('invalid', 20), ...rowsOf('refused', 20), ...rowsOf('held', 20), ...rowsOf('missing', 20)]
  await ledger.landChecked('framework_answers', [...kept, ...rowsOf('left', 4)])
  await ledger.landChecked('omissions', [...kept, ...rowsOf('left', 2)])
  await sql`
    update acceptance set invalid_reason = 'not a date' where row_id in (
      select row_id from ledger where stream = 'properties' and partner_id like 'invalid-%')`.execute(ledger.db)
  await sql`
    update acceptance set refused_hash = wanted_hash, outcome = 'rejected', outcome_at = now() where row_id in (
      select row_id from ledger where stream = 'properties' and partner_id like 'refused-%')`.execute(ledger.db)
  const id = await tonight('push')
  await sql`
    update source_row set guard_run = ${id}, guard_change = 'new' where stream = 'properties' and partner_id like 'held-%'`.execute(
    ledger.db,
  )
  await submission(id, 'company_mappings', 'settled', 90)
  // 90 of 100 rows in 9 minutes, and then the pull.
  expect(await forecastAt('02:11:00')).toMatchObject({ ends_at: new Date('2026-11-21T05:12:00Z') })
})

it('what a run has sent to no avail, and what follows it, is not to go: nor what waits for a request that is overdue', async () => {
  await nightsBefore()
  const [unknown, overdue] = ['unknown', 'overdue'].map((name) => rowsOf(name, 20)) as [
    ReturnType<typeof rowsOf>,
    ReturnType<typeof rowsOf>,
  ]
  await ledger.landChecked('properties', [...unknown, ...overdue])
  await ledger.landChecked('properties', rowsOf('sent', 70), true)
  await ledger.landChecked('properties', rowsOf('left', 10))
  await ledger.landChecked('framework_answers', [...unknown, ...overdue])
  await ledger.landChecked('omissions', [...unknown, ...overdue])
  const id = await tonight('push')
  const failed = await submission(id, 'company_mappings', 'settled', 20)
  await submission(id, 'company_mappings', 'settled', 70)
  const waiting = await submission(id, 'company_mappings', 'accepted', 20)
  await sql`update submission set overdue_since = now() where submission_id = ${waiting}`.execute(ledger.db)
  await sql`
    update acceptance set outcome = 'unknown', outcome_at = now(), outcome_submission = ${failed} where row_id in (
      select row_id from ledger where stream = 'properties' and partner_id like 'unknown-%')`.execute(ledger.db)
  await sql`
    insert into submission_row (submission_id, row_id, sent_hash)
    select outcome_submission, row_id, wanted_hash from acceptance where outcome = 'unknown'`.execute(ledger.db)
  await sql`
    insert into held_property (partner_id, stream, submission_id)
    select partner_id, 'properties', ${waiting} from ledger
    where stream = 'properties' and partner_id like 'overdue-%'`.execute(ledger.db)
  // 90 of 100 rows in 9 minutes, and then the pull.
  expect(await forecastAt('02:11:00')).toMatchObject({ ends_at: new Date('2026-11-21T05:12:00Z') })
})

it('rows that were rejected with another row of their hotel, which has changed since, are still to go', async () => {
  await nightsBefore()
  const inputs = (count: string) =>
    rowsOf('both', 5).map((row) => ({ ...row, content: { year: '2025', inputs: { count } } }))
  await ledger.landChecked('calculator_inputs', inputs('1'))
  await ledger.landChecked('calculator_settings', rowsOf('both', 5))
  await ledger.landChecked('properties', rowsOf('sent', 90), true)
  const { rows: nights } = await sql<{ run_id: number }>`select min(run_id) as run_id from run`.execute(ledger.db)
  const before = await submission(nights[0]?.run_id ?? 0, 'calculators', 'settled', 10)
  await sql`
    update acceptance set refused_hash = wanted_hash, outcome = 'rejected', outcome_at = now(),
      outcome_submission = ${before}
    where accepted_hash is null`.execute(ledger.db)
  await ledger.landChecked('calculator_inputs', inputs('2'))
  const id = await tonight('push')
  await submission(id, 'company_mappings', 'settled', 90)
  // 90 of 100 rows in 9 minutes, and then the pull.
  expect(await forecastAt('02:11:00')).toMatchObject({ ends_at: new Date('2026-11-21T05:12:00Z') })
})

it('rows that changed while a request carried them that the run took over, and what follows them, are still to go', async () => {
  await nightsBefore()
  await ledger.landChecked('properties', rowsOf('moved', 10))
  await ledger.landChecked('framework_answers', [...rowsOf('moved', 10), ...rowsOf('missing', 5)])
  const id = await tonight('push')
  const adopted = await submission(id, 'company_mappings', 'settled', 20)
  await sql`
    insert into submission_row (submission_id, row_id, sent_hash)
    select ${adopted}, row_id, 'before'::bytea from ledger where stream = 'properties'`.execute(ledger.db)
  await sql`
    update acceptance set outcome = 'confirmed', outcome_at = now(), outcome_submission = ${adopted},
      accepted_hash = 'before'::bytea, accepted_at = now()
    where row_id in (select row_id from ledger where stream = 'properties')`.execute(ledger.db)
  // 20 of 40 rows in 9 minutes, and then the pull.
  expect(await forecastAt('02:11:00')).toMatchObject({ ends_at: new Date('2026-11-21T05:20:00Z') })
  expect(await ledger.plan(id, { kind: 'company_mappings', streams: ['properties'], partitionBy: null })).toHaveLength(
    1,
  )
})

it('a pull takes as long as it usually does while the pages of a search are not known yet', async () => {
  await nightsBefore()
  const id = await tonight('pull')
  const loaded = await submission(id, searchKind, 'settled')
  await sql`
    insert into search_page (submission_id, ordinal, url, state, loaded_at)
    values (${loaded}, 0, 'http://x', 'loaded', now())`.execute(ledger.db)
  await submission(id, 'companies_search', 'accepted')
  expect(await forecastAt('02:12:00')).toMatchObject({ ends_at: new Date('2026-11-21T05:02:00Z'), late: true })
  await sql`update submission set state = 'settled' where run_id = ${id}`.execute(ledger.db)
  expect(await forecastAt('02:12:00')).toMatchObject({ ends_at: new Date('2026-11-21T02:12:00Z'), late: false })
})

it('the hours in which a run was interrupted are not taken for its speed', async () => {
  await nightsBefore()
  await ledger.landChecked('properties', rowsOf('sent', 30), true)
  await ledger.landChecked('properties', rowsOf('left', 70))
  const id = await tonight('push')
  await submission(id, 'company_mappings', 'settled', 30)
  await sql`update run set resumed = 1 where run_id = ${id}`.execute(ledger.db)
  // Seven of the ten minutes that a push takes are left, and the pull.
  expect(await forecastAt('06:00:00')).toMatchObject({ ends_at: new Date('2026-11-21T09:07:00Z') })
})
