import { beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { RunEnds } from '../../src/cli/open-ferry.ts'
import { createDatabase } from '../../src/db/database.ts'
import type { RunAsked } from '../../src/db/tables/run-tables.ts'
import { startEngine } from '../../src/jobs/engine.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 3 }))
const folder = await ofThisFile(workingFolder())
const call = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())

beforeAll(async () => {
  const migrated = await call('migrate')
  expect(migrated, migrated.stderr).toMatchObject({ code: 0 })
})
beforeEach(async () => {
  await world.pool.query(`update run set state = 'failed', finished_at = now() where state = 'running'`)
})

/** A night that was interrupted, at its first step. */
async function interrupted(asked: RunAsked): Promise<number> {
  const { rows } = await world.pool.query<{ run_id: number }>(
    `insert into run (job, trigger, scheduled_for, state, step, asked)
     values ('nightly-sync', 'cli', clock_timestamp(), 'running', 'reference', $1) returning run_id`,
    [asked],
  )
  return rows[0]?.run_id ?? 0
}

const untouched = async (run: number) => {
  const { rows } = await world.pool.query('select state, resumed from run where run_id = $1', [run])
  expect(rows).toEqual([{ state: 'running', resumed: 0 }])
}

test('a part of a night that is under way is no night: the verb refuses, and names the command that goes on with it', async () => {
  const run = await interrupted({ only: ['reference'] })
  const night = await call('run', 'nightly-sync', '--json')
  expect(night).toMatchObject({ code: 2, stdout: '' })
  const goesOn = 'nightferry run nightly-sync --only reference'
  expect(night.stderr).toContain(`Run ${run} is under way, which was asked for otherwise: ${goesOn} goes on with it`)
  await untouched(run)
  const same = await call(...goesOn.split(' ').slice(1))
  expect(same, same.stderr).toMatchObject({ code: 0 })
  expect(same.stderr).toContain(`Run ${run} is under way at the step reference: going on with it.`)
})

test('options that would not count with the run that is under way are refused', async () => {
  const run = await interrupted({})
  for (const options of [
    ['--since', '3d'],
    ['--stream', 'omissions'],
    ['--only', 'pull'],
  ]) {
    const ended = await call('run', 'nightly-sync', ...options)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain(
      `Run ${run} is under way, which was asked for otherwise: nightferry run nightly-sync`,
    )
  }
  await untouched(run)
})

test('a run that was asked for in the same way is joined, in whatever order its steps were named', async () => {
  const run = await interrupted({ only: ['report', 'reference'] })
  const ended = await call('run', 'nightly-sync', '--only', 'reference', '--only', 'report')
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  expect(ended.stderr).toContain(`Run ${run} is under way at the step reference: going on with it.`)
})

test('the command that goes on with a run is one that a shell reads as it was meant', async () => {
  await interrupted({ streams: ['omissions', 'properties'], since: '2026-11-20 06:00' })
  expect((await call('run', 'nightly-sync')).stderr).toContain(
    `nightferry run nightly-sync --stream omissions --stream properties --since '2026-11-20 06:00' goes on with it`,
  )
})

test('the process that ends a run wakes who follows it there', async () => {
  const told = vi.spyOn(RunEnds.prototype, 'tell')
  const ended = await call('run', 'nightly-sync', '--only', 'reference')
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  expect(told).toHaveBeenCalledOnce()
  told.mockRestore()
})

test.each([
  ['another job', ['run', 'housekeeping'], 0, ['retry']],
  // Refused at once: on a busy machine before the look was taken.
  ['a job that has to wait for it', ['run', 'push'], 2, ['created', 'retry']],
])('a verb that was called for %s does not end a run whose job it does not know', async (_, verb, code, states) => {
  const run = await interrupted({})
  await world.pool.query(`update run set job = 'search:of_the_daemon' where run_id = $1`, [run])
  const engine = await startEngine(world.databaseUrl, world.config(), () => {})
  onTestFinished(() => engine.stop())
  await createDatabase(world.pool)
    .transaction()
    .execute((trx) => engine.looks.atRun(trx, run))
  const ended = await call(...verb)
  expect(ended, ended.stderr).toMatchObject({ code })
  const { rows } = await world.pool.query(
    `select from nightferry_queue.job where name = 'look-at-run' and state::text = any($2) and data ->> 'id' = $1`,
    [String(run), states],
  )
  expect(rows).toHaveLength(1)
  await untouched(run)
})
