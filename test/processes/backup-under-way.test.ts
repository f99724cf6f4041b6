import { join } from 'node:path'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { leftIn } from '../cli/left-in.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { upsertsReceived } from '../helpers/request-log.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

/** The tasks that a ledger knows. */
async function tasksOf(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ id: string }>(
      `select correlation_id::text as id from nightferry.submission where correlation_id is not null order by 1`,
    )
    return rows.map(({ id }) => id)
  } finally {
    await client.end()
  }
}

const common = ['--config', demoConfig]

test('a night that was backed up under way ends well in the restored database, and nothing is sent twice', async () => {
  // A mapping that is still under way when the backup was taken and the process is gone.
  const processing = { companyMappings: { baseMs: 20_000, perItemUs: 0 } }
  await using world = await startWorld({
    hotels: 5,
    durations: { pendingMs: 0, scheduledMs: 0, jitter: 0, processing },
  })
  await using target = await testDatabase({ template: 'empty' })
  await using folder = await workingFolder()
  const night = start(folder.path, ['run', 'nightly-sync', ...common], world.environment())
  await vi.waitFor(
    async () => expect((await world.pool.query(`select from submission where state = 'accepted'`)).rowCount).toBe(1),
    { timeout: 120_000, interval: 20 },
  )
  const file = join(folder.path, 'night.backup')
  expect(await nightferry(folder.path, ['backup', '--out', file, ...common], world.environment())).toMatchObject({
    code: 0,
  })
  expect(night.child.exitCode).toBeNull()
  night.child.kill('SIGKILL')
  await night.ended

  const restored = { ...world.environment(), DATABASE_URL: target.url }
  const told = await nightferry(folder.path, ['restore-backup', file, ...common], restored)
  expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining('Run 1 was under way then') })
  expect((await leftIn(target.url)).runs).toMatchObject([{ state: 'running', resumed: 0 }])

  const first = await nightferry(folder.path, ['run', 'nightly-sync', '--json', ...common], restored)
  expect(first.stderr).toContain('Run 1 is under way at the step push: going on with it.')
  const report = JSON.parse(first.stdout) as RunReport
  expect(report.verdict).toBe('succeeded')
  // Each hotel was mapped once, and the ledger knows every request that the service received: the first was not repeated.
  const { rows: mapped } = await world.sandboxPool.query<{ times: number }>(
    `select count(*)::int as times from request_log, unnest(identifiers) as identifier
     where phase = 'received' and path like '%/company-mappings' group by identifier`,
  )
  expect(mapped).toEqual(Array.from({ length: 5 }, () => ({ times: 1 })))
  expect(await tasksOf(target.url)).toEqual(
    (
      await world.sandboxPool.query<{ id: string }>(
        `select distinct correlation_id::text as id from request_log where correlation_id is not null order by 1`,
      )
    ).rows.map(({ id }) => id),
  )
  const sent = await upsertsReceived(world.sandboxPool)
  expect(sent).toBeGreaterThan(0)

  const second = await nightferry(folder.path, ['run', 'nightly-sync', '--json', ...common], restored)
  expect(second.code, second.stdout).toBe(0)
  expect(await upsertsReceived(world.sandboxPool)).toBe(sent)
}, 600_000)
