import { beforeEach, expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig } from '../helpers/world.ts'
import { startTwoDestinations } from '../http/two-destinations.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const two = await ofThisFile(startTwoDestinations())
const folder = await ofThisFile(workingFolder())
beforeEach(async () => {
  await two.world.pool.query('truncate run, source_row cascade')
  await two.world.pool.query('delete from guard_plan')
})

async function status(...args: string[]): Promise<string> {
  const call = ['status', ...args, '--config', demoConfig]
  const { code, stdout, stderr } = await nightferry(folder.path, call, two.world.environment())
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

const bySchedule = ['--set', 'jobs.push.schedule=0 2 * * *', '--set', 'jobs.pull-calculators.schedule=0 5 * * *']

test('a push that failed is told of by status although another job went well after it', async () => {
  const push = await two.night({ job: 'push', verdict: 'failed' })
  await two.world.pool.query(
    `update run set failure = '{"code":"partner_unreachable","message":"Nobody answers.","step":"extract"}'`,
  )
  const pull = await two.night({ job: 'pull-calculators' })
  expect((await status(...bySchedule)).split('\n').slice(0, 3)).toEqual([
    expect.stringMatching(new RegExp(`^Last run of pull-calculators: ${pull}, .* finished, succeeded$`)),
    expect.stringMatching(new RegExp(`^Last run of push: ${push}, .* failed, failed$`)),
    '  partner_unreachable: Nobody answers.',
  ])
  expect(JSON.parse(await status(...bySchedule, '--json'))).toMatchObject({
    last_run: { run_id: pull },
    last_night: { run_id: push },
    carrying_runs: [{ run_id: pull }, { run_id: push }],
  })
})

test('a night in the place of several jobs is told of once', async () => {
  const night = await two.night()
  expect(JSON.parse(await status(...bySchedule, '--json'))).toMatchObject({ carrying_runs: [{ run_id: night }] })
  expect((await status(...bySchedule)).match(/Last run/g)).toHaveLength(1)
})

test('a run that the guard holds is named by status whatever ran after it', async () => {
  const night = await two.night()
  const held = await two.night()
  await two.world.pool.query(
    `update run set held = true, verdict = 'partial', asked = '{"streams":["properties"]}' where run_id = $1`,
    [held],
  )
  await two.world.pool.query(
    `insert into guard_plan (run_id, stream, reason, known, new, changed, gone, examples, state)
     select $1, stream, 'share', 10, 0, 10, 0, '[]', 'waiting' from unnest(array['omissions', 'properties']) stream`,
    [held],
  )
  const pull = await two.night({ job: 'pull-calculators' })
  const told = await status()
  expect(told.split('\n').slice(0, 3)).toEqual([
    expect.stringContaining(`Last run of pull-calculators: ${pull}, `),
    expect.stringContaining(`Last run of nightly-sync: ${night}, `),
    `Run ${held} is held by the guard over omissions, properties: nightferry approve ${held} --dry-run`,
  ])
  expect(JSON.parse(await status('--json'))).toMatchObject({
    held: [
      { run_id: held, stream: 'omissions' },
      { run_id: held, stream: 'properties' },
    ],
  })
})
