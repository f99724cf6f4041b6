import { expect, test } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

test('a run of some steps alone ends as it went, and counts as unsent what it was not to send', async () => {
  await using world = await startWorld({ hotels: 2, seed: 7 })
  await using folder = await workingFolder()
  const run = async (...only: string[]) => {
    const steps = only.flatMap((step) => ['--only', step])
    const args = ['run', 'push', ...steps, '--json', '--config', demoConfig]
    const { code, stdout, stderr } = await nightferry(folder.path, args, world.environment())
    const { streams, submissions, remarks, notices } = JSON.parse(stdout) as RunReport
    expect({ only, code, remarks }, stderr).toEqual({ only, code: 0, remarks: [] })
    const sum = (name: 'pending' | 'unsent' | 'sent' | 'confirmed' | 'inferred') =>
      streams.reduce((all, stream) => all + (stream[name] ?? 0), 0)
    const counts = { pending: sum('pending'), unsent: sum('unsent'), accepted: sum('confirmed') + sum('inferred') }
    return { ...counts, requests: submissions.length, notices: notices.filter((notice) => /not sent/.test(notice)) }
  }
  const ledger = async () =>
    (await world.pool.query<{ rows: number }>('select count(*)::int as rows from source_row')).rows[0]?.rows ?? 0
  const first = await run('extract')
  const rows = await ledger()
  expect(rows).toBeGreaterThan(10)
  const unsent = (count: number) => ({
    pending: count,
    unsent: count,
    accepted: 0,
    requests: 0,
    notices: [expect.stringMatching(`^${count} rows not sent, because the run was asked for without the step push:`)],
  })
  expect(first).toEqual(unsent(rows))
  expect(await run('extract', 'preflight')).toEqual(unsent(rows))
  const sent = await run('reference', 'extract', 'push')
  expect(sent).toMatchObject({ pending: rows, unsent: 0, accepted: rows, notices: [] })
  expect(await run('extract')).toMatchObject({ pending: 0, unsent: 0, notices: [] })
  await world.partnerPool.query(`update hotelier.hotel set name = name || ' x', updated_at = now()`)
  expect(await run('extract')).toEqual(unsent(2))
  expect(await run('extract', 'push')).toMatchObject({ pending: 2, unsent: 0, accepted: 2, requests: 1 })
})

test('a run that only sends leaves all as it is while the guard holds a night, and names the run to approve', async () => {
  await using world = await startWorld({ hotels: 4, seed: 7, migrated: true })
  await using folder = await workingFolder()
  const call = async (...words: string[]) => {
    const args = [...words, '--json', '--config', demoConfig, '--set', 'guard.minRows=2']
    const { code, stdout, stderr } = await nightferry(folder.path, args, world.environment())
    return { code, stderr, report: JSON.parse(stdout) as RunReport }
  }
  expect(await call('run', 'push')).toMatchObject({ code: 0 })
  // More than half of the hotels, which the guard holds, and of another stream one row, which it lets pass.
  await world.partnerPool.query(`
    update hotelier.hotel set name = name || ' x', updated_at = now() where code <> 'H-0001';
    update hotelier.calculation_setting set automatic_publishing = not automatic_publishing, updated_at = now()
    where hotel_id = (select hotel_id from hotelier.hotel where code = 'H-0001')`)
  const { report: held } = await call('run', 'push')
  expect(held).toMatchObject({ verdict: 'partial', held: [{ stream: 'properties', changed: 3 }], submissions: [] })
  const beside = await call('run', 'push', '--only', 'push')
  expect(beside, beside.stderr).toMatchObject({
    code: 3,
    report: { held: [{ run_id: held.run_id, stream: 'properties', changed: 3 }], submissions: [] },
  })
  expect(beside.report.remarks).toEqual([
    'Held by the guard: of properties 3 changed, where 4 rows are known.',
    `Nothing was sent. If this is right: nightferry approve ${held.run_id}. The next run then sends it.`,
  ])
  expect(await call('approve', String(held.run_id))).toMatchObject({ code: 0 })
  const sent = await call('run', 'push', '--only', 'push')
  expect(sent).toMatchObject({ code: 0, report: { remarks: [], held: [] } })
  expect(sent.report.submissions.map(({ kind, rows }) => [kind, rows])).toEqual([
    ['company_mappings', 3],
    ['calculators', 1],
  ])
})
