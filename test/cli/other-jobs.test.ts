import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type FinalTables, finalTables } from '../helpers/final-tables.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const hotels = 12
const world = await ofThisFile(startWorld({ migrated: true, hotels }))
const folder = await ofThisFile(workingFolder())
const call = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())

beforeAll(async () => {
  const migrated = await nightferry(folder.path, ['migrate', '--config', demoConfig], world.environment())
  expect(migrated, migrated.stderr).toMatchObject({ code: 0 })
})

describe('jobs that do a part of a night', () => {
  let night: FinalTables

  beforeAll(async () => {
    await using whole = await startWorld({ migrated: true, hotels })
    await using place = await workingFolder()
    const ended = await nightferry(place.path, ['run', 'nightly-sync', '--config', demoConfig], whole.environment())
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
    night = await finalTables(whole.pool)
  })

  test('leave together what a whole night leaves', async () => {
    for (const job of ['refresh-reference', 'push', 'pull-calculators']) {
      const ended = await call('run', job)
      expect(ended, `${job}: ${ended.stderr}`).toMatchObject({ code: 0 })
    }
    expect(await finalTables(world.pool)).toEqual(night)
  })

  test('compare nothing, and differences names the job that does', async () => {
    const { rows } = await world.pool.query('select from input_comparison')
    expect(rows).toEqual([])
    const { stdout } = await call('differences')
    expect(stdout).toContain('Nothing has been compared yet: only nightly-sync compares')
    expect(stdout).toContain('nightferry run nightly-sync')
  })

  test('send nothing where nothing has changed', async () => {
    const { rows: before } = await world.sandboxPool.query('select count(*) from request_log where method = $1', [
      'POST',
    ])
    const ended = await call('run', 'push')
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
    const { rows: after } = await world.sandboxPool.query('select count(*) from request_log where method = $1', [
      'POST',
    ])
    expect(after).toEqual(before)
  })

  test('do only the steps that are asked for', async () => {
    const ended = await call('run', 'nightly-sync', '--only', 'reference', '--json')
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
    expect(JSON.parse(ended.stdout)).toMatchObject({ job: 'nightly-sync', streams: [], submissions: [], searches: [] })
  })

  test('jobs that do a part of a night are told apart from it by status, as is a part of the night itself', async () => {
    await world.pool.query(
      `update run set verdict = 'failed', state = 'failed', asked = '{}' where job = 'nightly-sync'`,
    )
    expect(await call('run', 'push')).toMatchObject({ code: 0 })
    const first = (await call('status')).stdout.split('\n').slice(0, 2)
    expect(first[0]).toMatch(/^Last run of push: \d+, .* UTC, finished, succeeded$/)
    expect(first[1]).toMatch(/^Last run of nightly-sync: \d+, .* UTC, failed, failed$/)
    expect(await call('run', 'nightly-sync', '--only', 'reference')).toMatchObject({ code: 0 })
    const then = (await call('status')).stdout.split('\n').slice(0, 2)
    expect(then[0]).toMatch(/^Last run of nightly-sync \(only reference\): \d+, .* finished, succeeded$/)
    expect(then[1]).toBe(first[1])
  })

  test('jobs that do a part of a night are listed with their last runs', async () => {
    const { stdout } = await call('jobs', '--json')
    const { jobs } = JSON.parse(stdout) as { jobs: { job: string; last_run: { verdict: string } | null }[] }
    expect(jobs.map(({ job, last_run }) => [job, last_run?.verdict ?? null])).toEqual([
      ['nightly-sync', 'succeeded'],
      ['refresh-reference', 'succeeded'],
      ['push', 'succeeded'],
      ['pull-calculators', 'succeeded'],
      ['housekeeping', null],
    ])
  })

  test('jobs that do a part of a night that are misspelt are refused, with the names that there are', async () => {
    const ended = await call('run', 'pushh')
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('nightly-sync, refresh-reference, push, pull-calculators, housekeeping')
  })
})

describe('housekeeping', () => {
  const old = (days: number) => `now() - interval '${days} days'`

  test('removes what is older than it has to be kept, and nothing that is still needed', async () => {
    await world.pool.query(
      `insert into run (job, trigger, scheduled_for, state, step, verdict, report, finished_at)
       select 'nightly-sync', 'cli', ${old(500)} + n * interval '1 minute', 'finished', 'report', 'succeeded', '{}', ${old(500)}
       from generate_series(1, 3) n`,
    )
    await world.pool.query(
      `insert into run (job, trigger, scheduled_for, state, step, verdict, report, finished_at)
       values ('push', 'cli', ${old(900)}, 'finished', 'report', 'succeeded', '{"newest": false}', ${old(900)})`,
    )
    await world.pool.query(
      `insert into job_request (job, state, answered_at)
       values ('push', 'joined', ${old(100)}), ('push', 'refused', ${old(10)}), ('push', 'waiting', null)`,
    )
    const counted = async () => {
      const dry = await call('run', 'housekeeping', '--dry-run', '--json')
      const { dry_run, kinds } = JSON.parse(dry.stdout) as { dry_run: boolean; kinds: { kind: string; rows: number }[] }
      expect(dry_run).toBe(true)
      return Object.fromEntries(kinds.filter(({ rows }) => rows > 0).map(({ kind, rows }) => [kind, rows]))
    }
    // Of four, the newest of each job stays, and with its report a run.
    expect(await counted()).toEqual({ reports: 2, job_requests: 1 })
    const shown = await call('run', 'housekeeping', '--dry-run')
    const one = await call('run', 'housekeeping', '--dry-run', '--json', '--only', 'reports', '--only', 'queue')
    expect((JSON.parse(one.stdout) as { kinds: object[] }).kinds).toMatchObject([
      { kind: 'reports', rows: 2 },
      { kind: 'queue', rows: 0 },
    ])
    const misspelt = await call('run', 'housekeeping', '--dry-run', '--only', 'report_texts')
    expect(misspelt).toMatchObject({ code: 2, stderr: expect.stringContaining('payloads') })
    expect(shown.stdout).toMatch(/job requests +90 days +1 +20\d\d-.* bytes/)
    const count = `select count(*) filter (where report is null)::int as without from run where state = 'finished'`
    expect((await world.pool.query(count)).rows).toEqual([{ without: 0 }])

    const alone = await call('run', 'housekeeping', '--only', 'job_requests')
    expect(alone, alone.stderr).toMatchObject({ code: 0 })
    expect(await counted()).toEqual({ reports: 2 })
    const ended = await call('run', 'housekeeping')
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
    // What had lost its report went with it.
    expect((await world.pool.query(count)).rows).toEqual([{ without: 0 }])
    const { rows: tally } = await world.pool.query('select job, verdict, runs::int from run_tally')
    expect(tally).toEqual([{ job: 'nightly-sync', verdict: 'succeeded', runs: 2 }])
    const { rows } = await world.pool.query('select state from job_request order by request_id')
    expect(rows).toEqual([{ state: 'refused' }, { state: 'waiting' }])
    expect(await counted()).toEqual({})
  })

  test('a dry run goes by the clock of the database, whatever its own process takes for now, and says so', async () => {
    const dry = async (...args: string[]) => (await call('run', 'housekeeping', '--dry-run', ...args)).stdout
    await world.pool.query(`insert into job_request (job, state, answered_at) values ('push', 'joined', ${old(80)})`)
    const before = await dry('--json')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 800 * 86_400_000 })
    onTestFinished(() => void vi.useRealTimers())
    expect(await dry('--json')).toBe(before)
    expect(await dry()).toMatch(/by the database's clock alone.* differ by more than a day/)
  })
})
