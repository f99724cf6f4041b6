import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { findHeldRun } from '../../../src/db/guard/guard-plan.ts'
import { newestOnLedger, newestRuns, newestSearches } from '../../../src/db/runs/newest-runs.ts'
import { lastStepTimes } from '../../../src/db/runs/run-progress.ts'
import type { RunAsked } from '../../../src/db/tables/run-tables.ts'
import { newestCarried } from '../../../src/pipeline/report/standing.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from '../ledger/ledger.ts'

const ledger = await ofThisFile(openLedger())
let moment: number
beforeEach(async () => {
  await ledger.clear()
  await ledger.pool.query('delete from guard_plan')
  moment = Date.parse('2026-11-20T02:30:00Z')
})

type Ended = {
  state?: 'finished' | 'failed' | 'skipped'
  held?: boolean
  carried?: boolean | null
  asked?: RunAsked
}

/** A run that has ended, an hour after the one before. */
async function run(
  job: string,
  { state = 'finished', held = false, carried = null, asked = {} }: Ended = {},
): Promise<number> {
  moment += 3_600_000
  const { run_id } = await ledger.db
    .insertInto('run')
    .values({
      job,
      trigger: 'schedule',
      scheduled_for: new Date(moment),
      started_at: new Date(moment),
      state,
      step: 'report',
      held,
      carried,
      asked,
      verdict: state === 'finished' ? (held ? 'partial' : 'succeeded') : null,
    })
    .returning('run_id')
    .executeTakeFirstOrThrow()
  return run_id
}

describe('the newest run', () => {
  it('the newest run is that of a night that failed, not the housekeeping after it, nor a night that was skipped', async () => {
    const night = await run('nightly-sync', { state: 'failed' })
    await run('housekeeping')
    await run('nightly-sync', { state: 'skipped' })
    expect((await newestOnLedger(ledger.db))?.run_id).toBe(night)
  })

  it('the newest run of one job is found however many others came after it', async () => {
    const night = await run('nightly-sync', { state: 'failed' })
    for (let count = 0; count < 40; count++) await run('push')
    const ids = (runs: { run_id: number }[]) => runs.map(({ run_id }) => run_id)
    expect(ids(await newestRuns(ledger.db, 3, { job: 'nightly-sync' }))).toEqual([night])
    expect(ids(await newestRuns(ledger.db, 1, { before: night + 2 }))).toEqual([night + 1])
  })

  it('the newest request of a search, and the last time of a step, are found however many runs came after it', async () => {
    const week = await run('pull-calculators')
    await ledger.db
      .insertInto('submission')
      .values({ run_id: week, kind: 'calculators_search', state: 'settled', row_count: 0 })
      .execute()
    const at = new Date(moment)
    await ledger.db.insertInto('run_step').values({ run_id: week, step: 'pull', began_at: at, ended_at: at }).execute()
    await sql`alter table run alter column run_id restart with ${sql.lit(week + 5_000)}`.execute(ledger.db)
    for (let count = 0; count < 60; count++) await run('push')
    expect(await newestSearches(ledger.db, ['calculators_search'])).toMatchObject([{ run_id: week }])
    expect(await lastStepTimes(ledger.db)).toEqual([{ job: 'pull-calculators', step: 'pull', ms: 0 }])
  })

  it('the newest run stays the one that the guard stopped while housekeeping runs', async () => {
    const held = await run('nightly-sync', { held: true })
    await ledger.pool.query(
      `insert into guard_plan (run_id, stream, reason, known, new, changed, gone, examples, state)
       values ($1, 'properties', 'share', 10, 0, 10, 0, '[]', 'waiting')`,
      [held],
    )
    await run('housekeeping')
    await run('nightly-sync', { state: 'skipped' })
    expect(await findHeldRun(ledger.db, {})).toBe(held)
  })

  it('the newest run that carried the data through did all of its job, and was not stopped', async () => {
    const carried = await run('nightly-sync')
    const { started_at } = (await newestRuns(ledger.db, 1))[0] ?? {}
    await run('nightly-sync', { asked: { only: ['report'] } })
    await run('nightly-sync', { asked: { streams: ['properties'] } })
    await run('nightly-sync', { held: true })
    const nothing = await run('nightly-sync', { carried: false })
    await run('nightly-sync', { state: 'failed' })
    expect(carried).toBeGreaterThan(0)
    expect(await newestCarried(ledger.db, ['nightly-sync'])).toMatchObject([{ started_at, passed_over: nothing }])
    await run('nightly-sync', { carried: true })
    expect(await newestCarried(ledger.db, ['nightly-sync'])).toMatchObject([{ passed_over: null }])
  })

  it('the newest run that carried the data of a job through is one of its own, or a night', async () => {
    const startOf = async (id: number) =>
      (await newestRuns(ledger.db, 1, { before: id + 1 })).map(({ started_at }) => ({ started_at }))
    const push = await startOf(await run('push'))
    const jobs = ['push', 'pull-calculators']
    expect(await newestCarried(ledger.db, jobs)).toMatchObject([{ job: 'push', ...push[0] }, { started_at: null }])
    const night = await startOf(await run('nightly-sync'))
    expect(await newestCarried(ledger.db, jobs)).toMatchObject([...night, ...night])
  })
})
