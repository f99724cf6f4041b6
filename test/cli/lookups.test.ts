import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Finding } from '../../src/doctor/ward.ts'
import type { RunPlan } from '../../src/pipeline/plan/plan-run.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

type Meter = { name: string; field_type_id: string }

const csv = (meters: readonly Meter[]) =>
  `meter;field\r\n${meters.map(({ name, field_type_id }) => `"${name}";${field_type_id}\r\n`).join('')}`

test('codes of meters are looked up from a file beside the configuration, and a change of it is planned, read, told and traced', async () => {
  await using world = await startWorld({ hotels: 2, seed: 7, migrated: true })
  await using folder = await workingFolder()
  const { rows: meters } = await world.partnerPool.query<Meter>(
    'select name, field_type_id::text from hotelier.meter order by meter_id',
  )
  const [first] = some(meters)
  if (first === undefined) throw new Error('the demo has meters')
  mkdirSync(join(folder.path, 'etc'))
  const file = join(folder.path, 'etc', 'meters.csv')
  const config = join(folder.path, 'etc', 'own.yaml')
  const demo = readFileSync(demoConfig, 'utf8')
  const configured = (lookups: string, column = 'field_type_id') =>
    `${demo.replace('m.field_type_id, r.value', 'm.name as field_type_id, r.value').replace('  calculator_inputs:\n', `  calculator_inputs:\n    lookups: { ${column}: meters }\n`)}\n${lookups}\n`
  const good = 'lookups:\n  meters: { file: meters.csv, code: meter, id: field, separator: ";" }'
  writeFileSync(config, configured(good))
  const call = (...args: string[]) => nightferry(folder.path, [...args, '--config', config], world.environment())
  const json = async <T>(...args: string[]) => {
    const { stdout, stderr } = await call(...args, '--json')
    expect(stdout, stderr).not.toBe('')
    return JSON.parse(stdout) as T
  }
  const findings = async (id: string) =>
    (await json<{ findings: Finding[] }>('doctor')).findings.filter((finding) => finding.id === id)

  // All but one meter is known.
  const known = meters.filter((meter) => meter !== first)
  writeFileSync(file, csv(known))
  const planned = await json<RunPlan>('plan', '--limit', '500')
  const why = `field_type_id '${first.name}' is not in the lookup meters (meters.csv)`
  expect(some(planned.invalid).map((row) => row.reason)).toEqual(planned.invalid.map(() => why))
  const night = async () => await json<RunReport>('run', 'nightly-sync')
  const one = await night()
  expect(one.streams.find(({ stream }) => stream === 'calculator_inputs')).toMatchObject({
    invalid: planned.invalid.length,
  })
  expect(one.notices.filter((notice) => notice.includes('lookup'))).toEqual([])
  const invalid = await call('invalid', '--stream', 'calculator_inputs')
  expect(invalid.stdout).toContain(why)
  expect(await findings('lookups')).toMatchObject([
    {
      level: 'ok',
      subject: 'meters',
      what: `${file} has ${known.length} codes, for field_type_id of calculator_inputs`,
    },
  ])
  expect(await findings('lookup_changes')).toMatchObject([{ level: 'ok' }])

  // The file learns the last one.
  writeFileSync(file, csv(meters))
  const change = `meters (meters.csv) of field_type_id was changed: it had ${known.length} codes and has ${meters.length}`
  expect(await findings('lookup_changes')).toMatchObject([
    { level: 'advice', subject: 'calculator_inputs', what: `the next run reads all rows of the stream: ${change}` },
  ])
  const two = await night()
  expect(two.notices.filter((notice) => notice.includes('lookup'))).toEqual([
    expect.stringContaining(`The lookups of calculator_inputs were changed (${change})`),
  ])
  expect(two).toMatchObject({ verdict: 'succeeded', remarks: [] })
  expect((await call('invalid', '--stream', 'calculator_inputs')).stdout).not.toContain(first.name)
  const { rowCount: back } = await world.sandboxPool.query('select from sandbox.calculator where inputs ? $1', [
    first.field_type_id,
  ])
  expect(back).toBe(planned.invalid.length)
  const trace = await json<{ codes: { id: string; codes: string[] }[] }>('trace', 'H-0001')
  expect(trace.codes).toContainEqual({
    stream: 'calculator_inputs',
    column: 'field_type_id',
    id: first.field_type_id,
    lookup: 'meters',
    file: 'meters.csv',
    codes: [first.name],
  })
  expect((await call('trace', 'H-0001')).stdout).toMatch(/Its codes, by the lookups as they are now/)

  // Without its file no run reads anything.
  rmSync(file)
  const stopped = await call('run', 'nightly-sync')
  expect(stopped.code).toBe(1)
  expect(`${stopped.stdout}${stopped.stderr}`).toContain(
    `failed at the step extract (lookup_unusable):\n  The lookup meters cannot be used: ${file} is not there.`,
  )
  expect(await findings('lookups')).toMatchObject([{ level: 'error', subject: 'meters' }])
  expect(await findings('lookup_changes')).toMatchObject([{ made: false, what: 'not looked at: see lookups' }])
  expect((await call('trace', 'H-0001')).stdout).toContain('not known: The lookup meters cannot be used')
  const { rows: gone } = await world.pool.query(
    'select from source_row where gone_at is not null and row_key not like $1',
    ['%is not in%'],
  )
  expect(gone).toEqual([])

  // What is wrong with the settings is told before anything is opened.
  writeFileSync(config, configured('lookups:\n  metres: { file: meters.csv }'))
  expect((await call('status')).stderr).toContain(
    'streams.calculator_inputs.lookups.field_type_id: meters is no lookup; there are metres; was metres meant?',
  )
  writeFileSync(config, configured(good, 'fieldtype'))
  expect((await call('status')).stderr).toContain(
    'streams.calculator_inputs.lookups.fieldtype: calculator_inputs has no column fieldtype; it has partner_id, year, month, field_type_id, value',
  )
})
