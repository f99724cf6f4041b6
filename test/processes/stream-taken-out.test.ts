import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { patience } from '../helpers/patience.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

test('a run that goes on without a stream that it has read ends well, and says how much of it was not sent', async () => {
  await using world = await startWorld({
    hotels: 2,
    seed: 7,
    migrated: true,
    durations: { processing: { companyMappings: { baseMs: 8_000, perItemUs: 0 } } },
  })
  await using folder = await workingFolder()
  const demo = readFileSync(demoConfig, 'utf8')
  const less = join(folder.path, 'less.yaml')
  const lessText = demo.replace(/ {2}omissions:\n[\s\S]*?(?=\n {2}calculator_inputs)/, '')
  expect(lessText).not.toBe(demo)
  writeFileSync(less, lessText)
  const args = (config: string) => ['run', 'nightly-sync', '--json', '--config', config]
  const running = start(folder.path, args(demoConfig), world.environment())
  const inFlight = `select from run join submission using (run_id) where step = 'push' and submission.state = 'accepted'`
  await expect.poll(async () => (await world.pool.query(inFlight)).rowCount, patience).toBe(1)
  running.child.kill('SIGKILL')
  await running.ended
  const { code, stdout, stderr } = await nightferry(folder.path, args(less), world.environment())
  const { remarks, notices, streams } = JSON.parse(stdout) as RunReport
  expect({ code, remarks }, stderr).toEqual({ code: 0, remarks: [] })
  const omissions = streams.find(({ stream }) => stream === 'omissions')
  const rows = omissions?.pending ?? 0
  expect(rows).toBeGreaterThan(0)
  expect(omissions).toMatchObject({ unconfigured: rows, sent: 0, parked: 0 })
  expect(notices).toContain(
    `${rows} rows of omissions not sent: the stream was taken out of the configuration while the run was under way.`,
  )
})
