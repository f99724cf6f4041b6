import { expect, test } from 'vitest'
import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { type Ended, nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { type AlteringProxy, alteringProxy } from '../helpers/altering-proxy.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

const hotels = 4
const patience = { NIGHTFERRY_EXCHANGE_TASK_PATIENCE_MS: '1500' }

async function night(world: World, proxy: AlteringProxy, settings: Record<string, string> = patience): Promise<Ended> {
  await using folder = await workingFolder()
  const environment = { ...world.environment(), EXCHANGE_BASE_URL: proxy.url, ...settings }
  // What a person is told stands there in words only if no log is asked for.
  const told = { NIGHTFERRY_LOG_LEVEL: 'info', ...environment }
  return await nightferry(folder.path, ['run', 'nightly-sync', '--json', '--config', demoConfig], told)
}

const reportOf = ({ stdout }: Ended): RunReport => JSON.parse(stdout) as RunReport

/** Passes everything on, but shows the first task of one kind of request in a status until it is told not to. */
function showing(kind: string, status: string) {
  const frozen = { id: '', on: true }
  const freeze = (json: unknown) => {
    const task = json as { correlationId?: string }
    return frozen.on && task?.correlationId === frozen.id ? { correlationId: frozen.id, status } : json
  }
  return {
    frozen,
    alter: (
      request: { method: string; path: string },
      answer: { status: number; json: unknown; headers: Record<string, string> },
    ) => {
      if (request.method === 'POST' && request.path.endsWith(kind) && frozen.id === '') {
        frozen.id = (answer.json as { correlationId: string }).correlationId
      }
      const json = Array.isArray(answer.json) ? answer.json.map(freeze) : freeze(answer.json)
      return { ...answer, json }
    },
  }
}

test('a task in a status that nobody knows is waited for only so long, and later nights carry on beside it until it ends', async () => {
  await using world = await startWorld({ hotels })
  const { frozen, alter } = showing('/framework-answers/upsert', 'Pondering')
  await using proxy = await alteringProxy(world.sandboxUrl, alter)

  const first = await night(world, proxy)
  expect(first.code, first.stderr).toBe(3)
  const remark = reportOf(first).remarks.find((sentence) => sentence.includes('was not waited for any longer'))
  expect(remark).toContain(frozen.id)
  expect(remark).toContain('Pondering, a status that config/contract.yaml does not name')
  expect(remark).toMatch(/nightferry abandon \d+/)
  expect(first.stderr.match(/warning: task status unknown/g)).toHaveLength(1)
  expect(first.stderr.match(/warning: task overdue/g)).toHaveLength(1)
  // Everything else was sent, and brought back.
  const awaited = reportOf(first).streams.reduce((sum, stream) => sum + stream.awaited, 0)
  expect(awaited).toBeGreaterThan(0)
  expect(reportOf(first).searches).toMatchObject([{ task_status: 'Success' }])
  const { rows: held } = await world.pool.query<{ row_id: number }>(
    'select row_id from ledger where held_by is not null',
  )
  expect(held).toHaveLength(awaited)

  await applySecondNight(world.partnerPool, { hotels, seed: 7, asOf: new Date() })
  const second = await night(world, proxy)
  expect(second.code, second.stderr).toBe(3)
  expect(reportOf(second).remarks).toContainEqual(expect.stringContaining(frozen.id))
  expect(second.stderr).not.toContain('task status unknown')
  expect(reportOf(second).streams.find(({ stream }) => stream === 'properties')?.sent).toBeGreaterThan(0)
  const { rows: twice } = await world.pool.query(
    `select row_id from submission_row join submission using (submission_id)
     where kind = 'framework_answers' and row_id = any($1) group by row_id having count(*) > 1`,
    [held.map(({ row_id }) => row_id)],
  )
  expect(twice).toEqual([])

  frozen.on = false
  const third = await night(world, proxy)
  expect(reportOf(third).remarks.join()).not.toContain(frozen.id)
  const { rows: left } = await world.pool.query('select from ledger where held_by is not null')
  expect(left).toEqual([])
  const { rows: settled } = await world.pool.query('select state from submission where correlation_id = $1', [
    frozen.id,
  ])
  expect(settled).toEqual([{ state: 'settled' }])
})

test('a calculator search that never ends brings nothing, and the run ends and says so; the next one searches again', async () => {
  await using world = await startWorld({ hotels })
  const { frozen, alter } = showing('/calculators/search', 'InProgress')
  await using proxy = await alteringProxy(world.sandboxUrl, alter)
  const first = await night(world, proxy)
  expect(first.code, first.stderr).toBe(3)
  expect(reportOf(first).remarks).toEqual([
    expect.stringMatching(/^This run does not count .*: the calculator search brought nothing\.$/),
    expect.stringContaining(`task ${frozen.id} has not ended`),
  ])
  const second = await night(world, proxy)
  expect(second.code, second.stderr).toBe(0)
  const { rows } = await world.pool.query('select from calculator where removed_at is null')
  expect(rows.length).toBeGreaterThan(0)
})
