import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

// Each of these tests starts some twenty processes, one after another.
vi.setConfig({ testTimeout: 240_000 })

let world: World
let folder: Awaited<ReturnType<typeof workingFolder>>
let config: string
beforeAll(async () => {
  // Hotels by snapshot, everything else by cursor; and a guard that minds three rows.
  folder = await workingFolder()
  config = join(folder.path, 'snapshot.yaml')
  const snapshot = readFileSync(demoConfig, 'utf8').replace('cursor: updated_at', 'capture: snapshot')
  writeFileSync(
    config,
    `${snapshot}
guard: { minRows: 3 }
`,
  )
  world = await startWorld({ migrated: true, hotels: 6, seed: 7 })
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const call = (...args: string[]) => nightferry(folder.path, [...args, '--config', config], world.environment())
const night = async () => {
  const { code, stdout } = await call('run', 'nightly-sync', '--json')
  return { code, report: JSON.parse(stdout) as RunReport }
}
const requests = async () =>
  (
    await world.sandboxPool.query<{ posts: number }>(
      `select count(*)::int as posts from sandbox.request_log where method = 'POST' and phase = 'received'`,
    )
  ).rows[0]?.posts

test('a run that the guard stops sends nothing, says so, and goes through once a person has approved', async () => {
  expect((await night()).code).toBe(0)
  const before = await requests()

  await world.partnerPool.query(`update hotelier.hotel set name = name || ' Resort', updated_at = now()`)
  const foreseen = await call('plan')
  expect(foreseen).toMatchObject({ code: 0 })
  expect(foreseen.stdout).toMatch(/properties +held +6\n/)
  expect(foreseen.stdout).toContain('Nothing would be sent.')
  const { code, report } = await night()
  expect(code).toBe(3)
  expect(report).toMatchObject({
    verdict: 'partial',
    submissions: [],
    held: [{ stream: 'properties', changed: 6, known: 6 }],
  })
  expect(report.remarks).toContainEqual(expect.stringContaining(`nightferry approve ${report.run_id}`))
  expect(await requests()).toBe(before)

  const status = JSON.parse((await call('status', '--json')).stdout) as { streams: { stream: string; held: number }[] }
  expect(status.streams.find(({ stream }) => stream === 'properties')).toMatchObject({
    held: 6,
    pending: 6,
    accepted: 0,
  })
  const traced = await call('trace', 'H-0001')
  expect(traced.stdout).toContain(`1 row held by the guard: nightferry approve ${report.run_id} lets them through.`)
  expect(JSON.parse((await call('rejected', '--json')).stdout)).toEqual([])

  const shown = await call('approve', String(report.run_id), '--dry-run')
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  expect(shown.stdout).toMatch(/properties .* 6 +0 +6 +0 +100 %/)
  expect(shown.stdout).toMatch(/name: .* → .* Resort/)
  const text = await call('run', 'nightly-sync')
  expect(text).toMatchObject({ code: 3, stdout: expect.stringContaining('What the guard holds') })
  expect(await call('approve', String(report.run_id))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('A later run has judged again'),
  })
  expect(await requests()).toBe(before)

  expect(await call('approve', String(report.run_id + 1))).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Approved. The next run sends it: nightferry run nightly-sync'),
  })
  expect(await call('approve', String(report.run_id + 1))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('approved already, by '),
  })
  expect((await call('plan')).stdout).toMatch(/company_mappings +1 +6 +properties +6 +changed/)
  const after = await night()
  expect(after).toMatchObject({ code: 0, report: { verdict: 'succeeded', held: [] } })
  expect(after.report.streams.find(({ stream }) => stream === 'properties')).toMatchObject({
    sent: 6,
    confirmed: 6,
    held: 0,
  })
})

test('approve refuses a run that is none, and one that was not held', async () => {
  expect(await call('approve', '999')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no run 999'),
  })
  expect(await call('approve', '1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('was not held by the guard'),
  })
})

test('what is deleted at the partner is in the drift list until it is there again, and nothing is sent of it', async () => {
  // What belongs to the hotel is read by cursor, which does not see that it is gone.
  await world.partnerPool.query(`
    do $$ declare reference record; begin
      for reference in select conrelid::regclass as of, conname from pg_constraint where confrelid = 'hotelier.hotel'::regclass loop
        execute format('alter table %s drop constraint %I', reference.of, reference.conname);
      end loop;
    end $$`)
  await world.partnerPool.query(`delete from hotelier.hotel where code = 'H-0003'`)
  const { report } = await night()
  expect(report.streams.find(({ stream }) => stream === 'properties')).toMatchObject({ gone: 1, pending: 0, sent: 0 })
  expect(report.notices).toContainEqual(expect.stringContaining('nightferry drift lists it'))
  const listed = await call('drift', '--json')
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { stream: 'properties', partner_id: 'H-0003', outcome: 'confirmed' },
  ])
  expect((await call('drift')).stdout).toMatch(/H-0003/)
  expect((await call('trace', 'H-0003')).stdout).toMatch(/properties +0 +0 +1 /)
  const planned = await call('plan')
  expect(planned.stdout).toMatch(/properties +5 +0 +5 +0 +0 +0 +0\n/)
  expect(await call('drift', '--stream', 'nothing')).toMatchObject({ code: 2 })
})

test('an approval of rows that are gone says that they are marked so at once, and not that a run sends them', async () => {
  await world.partnerPool.query('delete from hotelier.hotel')
  const { report } = await night()
  expect(report.held).toContainEqual(expect.objectContaining({ stream: 'properties', reason: 'empty', gone: 5 }))
  expect(report.held.every((plan) => plan.new + plan.changed === 0)).toBe(true)
  const gone = report.held.reduce((sum, plan) => sum + plan.gone, 0)
  const { stdout } = await call('approve', String(report.run_id))
  expect(stdout).toContain(`Approved. ${gone} rows are marked as gone; nothing is sent for that.`)
  expect(stdout).not.toContain('The next run')
})
