import { beforeEach, expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig } from '../helpers/world.ts'
import { startTwoDestinations } from '../http/two-destinations.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const two = await ofThisFile(startTwoDestinations())
const folder = await ofThisFile(workingFolder())
beforeEach(async () => {
  await two.world.pool.query('truncate run, source_row cascade')
})

async function said(...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await nightferry(
    folder.path,
    [...args, '--config', demoConfig],
    two.world.environment(),
  )
  expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' })
  return stdout.split('\n')
}

test('a destination without a run is said to have none, and the one whose run is the newest is named', async () => {
  const there = await two.night({ destination: two.elsewhere })
  await two.request(there)
  const none = `No run has worked yet for the destination in use; run ${there} was for staging.`
  expect((await said('status'))[0]).toBe(`${none} nightferry run nightly-sync starts one.`)
  expect((await said('submissions'))[0]).toBe(none)
  expect((await said('waves'))[0]).toBe(none)
  expect((await said('jobs')).find((line) => line.includes('nightly-sync'))).toContain('succeeded, for staging')
  expect((await said('submissions', '--run', String(there))).join('\n')).toContain('properties')
  const here = await two.night()
  expect((await said('status'))[0]).toContain(`Last run: ${here}, `)
  expect((await said('submissions'))[0]).toBe(`Run ${here} sent nothing.`)
})

test('a list of runs has a column for their destinations where one of them is not in use', async () => {
  await two.night()
  expect((await said('runs'))[0]).not.toContain('destination')
  await two.night({ destination: two.elsewhere })
  const [head, , there, here] = await said('runs')
  expect(head).toContain('destination')
  expect([there, here]).toEqual([expect.stringContaining('staging'), expect.stringContaining('in use')])
})
