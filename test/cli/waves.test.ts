import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ParkedBehind, Wave } from '../../src/db/runs/wave-reports.ts'
import type { BatchSize } from '../../src/db/tables/submission-tables.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { type Ended, nightferry, workingFolder } from './nightferry-process.ts'

const hotels = 6
/** A hotel that the service cannot match. */
const stranger = 'H-0999'

type Waves = { run_id: number | null; waves: Wave[]; parked: ParkedBehind[] | null }

let world: World
let report: RunReport

async function call(...args: string[]): Promise<Ended> {
  await using folder = await workingFolder()
  return await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())
}

async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await call(...args)
  expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' })
  return stdout
}

beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels })
  await world.partnerPool.query(
    `insert into hotelier.hotel (hotel_id, code, name) values (999, '${stranger}', 'Nobody heard of it');
     insert into hotelier.calculation_setting (hotel_id, automatic_yearly_calculation, automatic_publishing)
     values (999, true, false)`,
  )
  const { stdout, stderr } = await call(
    'run',
    'nightly-sync',
    '--json',
    '--set',
    'push.maxCompaniesPerMapping=2',
    '--set',
    'push.maxAnswersPerUpsert=20',
  )
  expect(stdout, stderr).not.toBe('')
  report = JSON.parse(stdout) as RunReport
}, 120_000)

afterAll(() => world[Symbol.asyncDispose]())

test('every submission of the run stands in one wave, behind all that released it', async () => {
  const { run_id, waves, parked } = JSON.parse(await said('waves', '--json')) as Waves
  expect(run_id).toBe(1)
  const carrying = report.submissions.filter(({ rows }) => rows > 0)
  expect(
    waves.flatMap(({ submissions }) => submissions.map(({ submission_id }) => submission_id)).toSorted((a, b) => a - b),
  ).toEqual(carrying.map(({ submission_id }) => submission_id))
  const waveOf = new Map(
    waves.flatMap(({ wave, submissions }) => submissions.map(({ submission_id }) => [submission_id, wave] as const)),
  )
  const [first, second] = waves
  expect(new Set(first?.submissions.map(({ kind }) => kind))).toEqual(new Set(['company_mappings']))
  expect(first?.submissions.every(({ released_by }) => released_by.length === 0)).toBe(true)
  expect(second?.submissions.length).toBeGreaterThan(4)
  for (const { wave, submissions } of some(waves.slice(1))) {
    for (const { rows, released_by } of some(submissions)) {
      expect(released_by.reduce((sum, by) => sum + by.rows, 0)).toBe(rows)
      expect(Math.max(...released_by.map(({ submission_id }) => waveOf.get(submission_id) ?? 0))).toBe(wave - 1)
    }
  }
  expect(parked).toMatchObject([
    {
      stream: 'calculator_settings',
      rows: 1,
      required: 'properties',
      requirement_state: 'rejected',
      submission_id: null,
    },
  ])
})

test('waves prints submissions with what released them, and what is parked', async () => {
  const text = await said('waves')
  expect(text).toMatch(/^Wave 1: 4 submissions, 7 rows, from .* to .* \(UTC\)$/m)
  expect(text).toMatch(/framework_answers .* [1-4] \(\d+ rows?\)/)
  expect(text).toMatch(/calculator_settings +1 +1 +properties +rejected/)
  expect(await said('waves', '1')).toContain('Wave 2')
})

test('a run that there never was is a usage error', async () => {
  expect(await call('waves', '77')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('no run 77') })
})

test('trace says which submission released each request of a hotel', async () => {
  const { waves } = JSON.parse(await said('waves', '--json')) as Waves
  const text = await said('trace', 'H-0001')
  const { submissions } = JSON.parse(await said('trace', 'H-0001', '--json')) as {
    submissions: { submission_id: number; kind: string; released_by: number[] }[]
  }
  const mapping = submissions.find(({ kind }) => kind === 'company_mappings')?.submission_id
  const others = submissions.filter(({ kind }) => kind !== 'company_mappings')
  expect(others.length).toBeGreaterThan(2)
  for (const { submission_id, released_by } of some(others)) {
    expect(released_by).toEqual([mapping])
    expect(text).toContain(`submission ${submission_id}: released by submission ${mapping}`)
  }
  expect(waves[0]?.submissions.map(({ submission_id }) => submission_id)).toContain(mapping)
})

test('status says how many rows the requests of each kind carry, and what taught it', async () => {
  const { request_sizes } = JSON.parse(await said('status', '--json')) as { request_sizes: BatchSize[] }
  expect(request_sizes.find(({ kind }) => kind === 'company_mappings')).toMatchObject({ rows: 2, verdict: 'succeeded' })
  expect(request_sizes.find(({ kind }) => kind === 'framework_answers')).toMatchObject({ rows: 20 })
  expect(await said('status')).toMatch(/company_mappings +2 +kept: submission \d+ with 2 rows succeeded in /)
})
