import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { settings } from '../../../src/config/schema.ts'
import { copyInUse, newestCopy, runOfOtherCopy } from '../../../src/db/own-server.ts'
import { isSendingRun } from '../../../src/db/runs/spoken-for.ts'
import type { RunAsked, RunTable } from '../../../src/db/tables/run-tables.ts'
import { sendsRows } from '../../../src/jobs/job.ts'
import { jobsOf } from '../../../src/jobs/known-jobs.ts'
import { finishWithReport } from '../../../src/pipeline/report/finish-with-report.ts'
import type { RunReport } from '../../../src/pipeline/report/report.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const db = () => ferry.ledger.db

async function run(job: string, state: RunTable['state'], asked: RunAsked = {}): Promise<number> {
  const { run_id } = await db()
    .insertInto('run')
    .values({ job, trigger: 'cli', scheduled_for: sql`clock_timestamp()`, state, step: 'push', asked: sql`${asked}` })
    .returning('run_id')
    .executeTakeFirstOrThrow()
  return run_id
}

/** A run that read streams whole and learned that a hotel is another company, and the same company as another. */
async function noticing(job: string, state: RunTable['state']): Promise<number> {
  const run_id = await run(job, state)
  const counts = { read: 0, folded: 0, unchanged: 0, changed: 0, null_cursor: 0, protection: null, pending: null }
  const whole = { whole: 'newest_row', whole_detail: 'H-1 carried 9', watermark_before: null, watermark_after: null }
  await db()
    .insertInto('run_stream')
    .values({ run_id, stream: 'properties', ...counts, ...whole } as never)
    .execute()
  await ferry.ledger.land(
    'properties',
    ['H-1', 'H-2'].map((partner_id) => ({ partner_id, content: { name: partner_id } })),
  )
  await sql`
    with mapped as (
      insert into submission (run_id, kind, state, row_count) values (${run_id}, 'company_mappings', 'settled', 2)
      returning submission_id
    ),
    known as (
      insert into mapping (partner_id, company_id, submission_id)
      select hotel, ${ids.company}::uuid, submission_id from mapped, unnest(array['H-1', 'H-2']) hotel
      on conflict do nothing
    )
    insert into mapping_change (partner_id, company_before, company_id, submission_id, rows)
    select 'H-1', ${ids.brand}::uuid, ${ids.company}::uuid, submission_id, 3 from mapped`.execute(db())
  return run_id
}

/** Ends a new run of a job with its report. */
async function reported(job: string): Promise<RunReport> {
  await using deps = ferry.deps('http://127.0.0.1:9')
  const run_id = await run(job, 'running')
  const begun = await db().selectFrom('run').selectAll().where('run_id', '=', run_id).executeTakeFirstOrThrow()
  await finishWithReport(deps, begun)
  const { report } = await db()
    .selectFrom('run')
    .select('report')
    .where('run_id', '=', run_id)
    .executeTakeFirstOrThrow()
  return report as RunReport
}

const newestRow = expect.stringMatching(/^The newest known row of properties is gone .*\(H-1 carried 9\)/)
const moved = expect.stringMatching(/^H-1 is company .* 3 accepted rows became pending/)
const twice = expect.stringMatching(/^H-1, H-2 are confirmed for one company/)

it('what a run noticed that failed is told by the next one that sends rows and ends with a report, and once', async () => {
  await noticing('nightly-sync', 'failed')
  await run('push', 'failed')
  expect((await reported('pull-calculators')).notices).toEqual([])
  const { notices } = await reported('nightly-sync')
  expect(notices).toEqual(expect.arrayContaining([newestRow, moved, twice]))
  expect((await reported('nightly-sync')).notices).toEqual([])
})

it('what a run noticed that failed is told once where the next one notices the same', async () => {
  await noticing('nightly-sync', 'failed')
  await noticing('nightly-sync', 'failed')
  const { notices } = await reported('nightly-sync')
  expect(notices.filter((notice) => notice.startsWith('The newest'))).toEqual([newestRow])
  expect(notices.filter((notice) => notice.startsWith('H-1, H-2'))).toEqual([twice])
})

it('what a run noticed that ended with a report is told by no later one', async () => {
  await noticing('nightly-sync', 'finished')
  expect((await reported('nightly-sync')).notices).toEqual([])
})

it("another copy of Nightferry's database is told by the next run that sends rows, whatever other jobs ran before", async () => {
  const night = await run('nightly-sync', 'finished')
  expect(await runOfOtherCopy(db(), night)).toBeNull()
  await sql`update run set own_database = 'before the restore'`.execute(db())
  for (const job of some(['pull-calculators', 'search:x', 'refresh-reference'])) {
    expect(await runOfOtherCopy(db(), await run(job, 'finished'))).toBe(night)
    expect(await newestCopy(db())).toEqual({ runId: night, copy: 'before the restore' })
  }
  expect(await runOfOtherCopy(db(), await run('nightly-sync', 'finished', { only: ['pull'] }))).toBe(night)
  const next = await run('nightly-sync', 'finished')
  expect(await runOfOtherCopy(db(), next)).toBe(night)
  expect(await newestCopy(db())).toEqual({ runId: next, copy: await copyInUse(db()) })
  expect(await runOfOtherCopy(db(), await run('pull-calculators', 'finished'))).toBeNull()
  expect(await runOfOtherCopy(db(), await run('nightly-sync', 'finished'))).toBeNull()
})

it('a run that sends rows is told by its job and what was asked of it, as the engine tells it', async () => {
  const streams = { properties: { query: 'select 1', capture: 'snapshot' } }
  const config = settings.parse({ streams, pull: { searches: [{ name: 'x', search: 'companiesSearch' }] } })
  const asked: RunAsked[] = [
    {},
    { only: ['push'] },
    { only: ['pull'] },
    { only: ['extract', 'push'] },
    { streams: ['x'] },
  ]
  for (const job of some(jobsOf(config))) {
    for (const one of some(asked)) {
      const id = await run(job.name, 'finished', one)
      const { rows } = await sql<{ sends: boolean }>`
        select ${isSendingRun('run')} as sends from run where run_id = ${id}`.execute(db())
      expect(rows, `${job.name} ${JSON.stringify(one)}`).toEqual([{ sends: sendsRows(job, one) }])
    }
  }
})
