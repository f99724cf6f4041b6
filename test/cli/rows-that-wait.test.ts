import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { alteringProxy } from '../helpers/altering-proxy.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

vi.setConfig({ testTimeout: 180_000 })

async function openWorld() {
  const world = await startWorld({ migrated: true, hotels: 4 })
  onTestFinished(() => world[Symbol.asyncDispose]())
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  const call = async (config: string, args: string[], environment: Record<string, string> = {}) =>
    await nightferry(folder.path, [...args, '--config', config], { ...world.environment(), ...environment })
  return { world, folder, call }
}

/** Of one stream, in a report. */
const streamOf = (report: RunReport, name: string) => report.streams.find(({ stream }) => stream === name)

test('rows behind a task that does not end name the request that they wait for, and not the next run', async () => {
  const { world, call } = await openWorld()
  let frozen = ''
  const freeze = (json: unknown) =>
    (json as { correlationId?: string } | null)?.correlationId === frozen
      ? { correlationId: frozen, status: 'InProgress' }
      : json
  await using proxy = await alteringProxy(world.sandboxUrl, (request, answer) => {
    if (request.method === 'POST' && request.path.endsWith('/framework-answers/upsert') && frozen === '')
      frozen = (answer.json as { correlationId: string }).correlationId
    return { ...answer, json: Array.isArray(answer.json) ? answer.json.map(freeze) : freeze(answer.json) }
  })
  const verb = (...args: string[]) =>
    call(demoConfig, args, { EXCHANGE_BASE_URL: proxy.url, NIGHTFERRY_EXCHANGE_TASK_PATIENCE_MS: '1500' })

  const night = await verb('run', 'nightly-sync', '--json')
  const report = JSON.parse(night.stdout) as RunReport
  const behind = streamOf(report, 'framework_answers')?.behind ?? 0
  expect(behind, night.stderr).toBeGreaterThan(0)
  const { rows } = await world.pool.query<{ partner_id: string; submission_id: number }>(
    `select partner_id, submission_id::int from held_property join submission using (submission_id)
     where overdue_since is not null order by partner_id`,
  )
  const [held] = rows
  const words = `rows of its hotel are in submission ${held?.submission_id}, which is overdue`
  const traced = (await verb('trace', held?.partner_id ?? '')).stdout
  expect(traced).toContain(words)
  expect(traced).not.toContain('the next run sends')
  expect((await verb('parked')).stdout).toContain(words)
  expect((await verb('waves')).stdout).toMatch(new RegExp(`submission ${held?.submission_id} +overdue`))
  const status = JSON.parse((await verb('status', '--json')).stdout) as {
    streams: { stream: string; parked: number }[]
  }
  expect(status.streams.find(({ stream }) => stream === 'framework_answers')?.parked).toBe(behind)
  expect((await verb('doctor')).stdout).toContain(`such as request ${held?.submission_id}`)
})

test('rows of a stream that was taken out of the configuration are no business of the next run, and of nobody', async () => {
  const { world, folder, call } = await openWorld()
  const night = async (config: string): Promise<RunReport> => {
    const { stdout, stderr } = await call(config, ['run', 'nightly-sync', '--json'])
    expect(stdout, stderr).not.toBe('')
    return JSON.parse(stdout) as RunReport
  }
  await night(demoConfig)
  await applySecondNight(world.partnerPool, { hotels: 4, seed: 7, asOf: new Date() })
  const whole = await night(demoConfig)
  const unsent = whole.refused.filter(({ stream }) => stream === 'framework_answers')
  expect(unsent).not.toEqual([])
  const hotel = unsent[0]?.partner_id ?? ''

  const taken = join(folder.path, 'taken.yaml')
  const text = readFileSync(demoConfig, 'utf8')
  const without = text.replace(/^ {2}framework_answers:\n(?: {4,}.*\n|\n)+/m, '')
  expect(without).not.toBe(text)
  writeFileSync(taken, without)
  const { refused } = await night(taken)
  expect(refused.filter(({ stream }) => stream === 'framework_answers')).toEqual([])
  const said = async (...args: string[]) => (await call(taken, args)).stdout
  expect(await said('trace', hotel)).toMatch(
    /framework_answers, \d+ rows?: not accepted, and framework_answers is not in the configuration: no run/,
  )
  type Status = { streams: { stream: string; accepted: number; pending: number; unconfigured: number }[] }
  const statusOf = async (config: string) =>
    (JSON.parse((await call(config, ['status', '--json'])).stdout) as Status).streams.find(
      ({ stream }) => stream === 'framework_answers',
    )
  const { accepted = 0, pending = 0 } = (await statusOf(demoConfig)) ?? {}
  expect(pending).toBeGreaterThan(0)
  expect(await statusOf(taken)).toMatchObject({ accepted, pending: 0, unconfigured: pending })
  expect(await said('invalid')).not.toContain('framework_answers')
  expect(await said('status')).not.toContain('The oldest change not accepted')

  const { rows } = await world.pool.query<{ run_id: string }>(
    `insert into guard_plan (run_id, stream, reason, known, new, changed, gone, examples, state)
     select max(run_id), 'framework_answers', 'share', 10, 0, 9, 0, '[]', 'waiting' from run returning run_id`,
  )
  expect(await said('status')).not.toContain('held by the guard')
  const approved = await said('approve', String(rows[0]?.run_id))
  expect(approved).toContain('No run sends rows of framework_answers, which the configuration does not name.')
  expect(approved).not.toContain('The next run sends')
})
