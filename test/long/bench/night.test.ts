import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import type { Copied } from '../../../bench/night-copies.ts'
import type { NightSpent } from '../../../bench/night-run.ts'
import { some } from '../../helpers/some.ts'

type Measured = { rounds: { hotels: number; nights: NightSpent[]; copies: Copied[] }[] }

const script = fileURLToPath(new URL('../../../bench/night.ts', import.meta.url))

it('the bench of a night measures three nights, every step of each, and the bare copies', {
  timeout: 600_000,
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--quick', '--json'], {
    maxBuffer: 64 * 1024 * 1024,
  })
  const [round] = (JSON.parse(stdout) as Measured).rounds
  expect(round?.nights.map(({ night }) => night)).toEqual(['first', 'unchanged', '1 %'])
  const steps = ['reference', 'extract', 'preflight', 'push', 'pull', 'reconcile', 'compare', 'report']
  for (const night of some(round?.nights ?? [])) {
    expect(night.steps.map(({ name }) => name)).toEqual(['process starts', ...steps, 'process ends'])
    expect(night.used.ours).toBeGreaterThan(0)
    expect(night.used.database).toBeGreaterThan(0)
    expect(night.peaks.ours).toBeGreaterThan(0)
    expect(night.statements.length).toBeGreaterThan(0)
    // The chain is the night: times of processes and of databases are those of one clock, in milliseconds.
    expect(night.path.makespan).toBeCloseTo(night.seconds, 2)
    expect(night.path.critical).toBeLessThanOrEqual(night.path.makespan)
  }
  const [first, unchanged, onePercent] = (round?.nights ?? []).map(
    ({ steps }) => steps.find(({ name }) => name === 'push')?.rows ?? 0,
  )
  expect(first).toBeGreaterThan(2_000)
  expect(onePercent).toBeGreaterThan(unchanged ?? 0)
  expect(onePercent).toBeLessThan((first ?? 0) / 10)
  expect(round?.copies.map(({ what }) => what)).toEqual([
    'out of the partner',
    'into the ledger',
    'bodies out',
    'outcomes in',
    'values in',
  ])
  for (const { rows, seconds } of some(round?.copies ?? [])) {
    expect(rows).toBeGreaterThan(1_000)
    expect(seconds).toBeGreaterThan(0)
  }
})
