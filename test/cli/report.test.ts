import { beforeAll, expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { type Ended, nightferry, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 2 }))
const folder = await ofThisFile(workingFolder())

const call = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())

/** Two runs of the night that end with a report, one of housekeeping, and one of the night that fails. */
let first: Ended
let second: Ended
let failed: Ended

beforeAll(async () => {
  first = await call('run', 'nightly-sync')
  second = await call('run', 'nightly-sync', '--json')
  expect(await call('run', 'housekeeping')).toMatchObject({ code: 0 })
  await world.partnerPool.query('alter table hotelier.hotel rename to moved')
  failed = await call('run', 'nightly-sync')
  expect(failed).toMatchObject({ code: 1, stdout: '' })
})

test('report prints the report of any run exactly as it was printed after the run', async () => {
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Run 1 of nightly-sync: all well\n/) })
  expect(await call('report', '1')).toEqual({ ...first, stderr: '' })
  expect(await call('report', '2', '--json')).toEqual({ ...second, stderr: '' })
  expect(await call('report', '3')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Run 3 of housekeeping: /),
  })
})

test('report prints the failure of a run that failed, and ends with 0 as every verb that only shows', async () => {
  const said = await call('report', '4')
  expect(said).toMatchObject({ code: 0, stderr: '' })
  expect(said.stdout).toMatch(/^Run 4 failed at the step extract \(partner_query_failed\):\n {2}./)
  expect(failed.stderr).toContain(said.stdout)
  const { stdout } = await call('report', '4', '--json')
  expect(JSON.parse(stdout)).toEqual({
    run_id: 4,
    verdict: 'failed',
    failure: { step: 'extract', code: 'partner_query_failed', message: expect.stringMatching(/./) },
  })
})

test('report without a run prints the newest that has ended but housekeeping, or the newest of a job', async () => {
  expect((await call('report')).stdout).toMatch(/^Run 4 failed /)
  expect((await call('report', '--job', 'housekeeping')).stdout).toMatch(/^Run 3 of housekeeping: /)
  expect(await call('report', '1', '--job', 'housekeeping')).toMatchObject({ code: 2, stdout: '' })
  const { code, stderr } = await call('report', '--job', 'nightly')
  expect(code).toBe(2)
  expect(stderr).toContain('There was no run of nightly yet; there were runs of housekeeping, nightly-sync.')
})

test('report says why there is none: no such run, under way, skipped, cleaned away', async () => {
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await call('report', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    return stderr
  }
  await world.pool.query(`
    update run set report = null where run_id = 1;
    insert into run (job, trigger, scheduled_for, state, step, finished_at)
    values ('push', 'missed', now(), 'skipped', '', now());
    insert into run (job, trigger, scheduled_for, state, step) values ('nightly-sync', 'cli', now(), 'running', 'push')`)
  const { rows } = await world.pool.query<{ run_id: string }>('select run_id from run order by run_id desc limit 2')
  const [running, skipped] = rows.map(({ run_id }) => String(run_id))
  expect(await refused('4711')).toContain('There is no run 4711, or not any more')
  expect(await refused(String(running))).toContain(`Run ${running} of nightly-sync is under way at the step push`)
  expect(await refused(String(skipped))).toContain(`Run ${skipped} of push was skipped`)
  const cleaned = await refused('1')
  expect(cleaned).toContain('The report of run 1 is not kept any more: housekeeping')
  expect(cleaned).toContain('(400). Run 1 of nightly-sync ended 20')
  expect((await call('report')).stdout, 'a run under way is not the newest that has ended').toMatch(/^Run 4 failed /)
  await world.pool.query(`update run set job = 'refresh-reference' where state = 'running'`)
  expect(await refused('--job', 'refresh-reference')).toContain('No run of refresh-reference has ended yet.')
})
