import { expect, onTestFinished, test, vi } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { type AlteringProxy, alteringProxy } from '../helpers/altering-proxy.ts'
import { demoConfig, startWorld, type World, type WorldOptions } from '../helpers/world.ts'
import { type Ended, nightferry, type Running, start, workingFolder } from './nightferry-process.ts'

const mappings = '/company-mappings'

type Daemon = {
  world: World
  /** Runs a verb beside the process that works on the run. */
  call(...args: string[]): Promise<Ended>
  /** Waits until the submissions of a kind are so. */
  reaches(kind: string, state: object): Promise<void>
  rowsOf(query: string): Promise<object[]>
  run: Running
}

/** A night that is under way in a process of its own. */
async function nightUnderWay(
  options: Omit<WorldOptions, 'hotels'>,
  through?: (url: string) => Promise<string>,
  settings: Record<string, string> = {},
): Promise<Daemon> {
  const folder = await workingFolder()
  const world = await startWorld({ migrated: true, hotels: 3, ...options })
  const environment = {
    ...world.environment(),
    // Nothing is sent again of its own accord while a person decides.
    NIGHTFERRY_PUSH_UNCERTAIN_GRACE_MS: '600000',
    ...settings,
    ...(through !== undefined && { EXCHANGE_BASE_URL: await through(world.sandboxUrl) }),
  }
  const run = start(folder.path, ['run', 'nightly-sync', '--json', '--config', demoConfig], environment)
  onTestFinished(async () => {
    run.child.kill('SIGKILL')
    await run.ended
    await world[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })
  const rowsOf = async (query: string) => (await world.pool.query<object>(query)).rows
  return {
    world,
    run,
    rowsOf,
    call: (...args) => nightferry(folder.path, [...args, '--config', demoConfig], environment),
    reaches: async (kind, state) => {
      const look = async () => {
        expect(run.child.exitCode, run.stderr()).toBeNull()
        const { rows } = await world.pool.query<object>('select * from nightferry.submission where kind = $1', [kind])
        expect(rows).toContainEqual(expect.objectContaining(state))
      }
      // A night under way needs several processes, which a busy machine starts slowly; the test's own time ends this.
      await vi.waitFor(look, { timeout: 170_000, interval: 100 })
    },
  }
}

const actions = 'select verb, submission_id, rows, result from nightferry.actions order by action_id'

test('a task that never moves cannot be cancelled any more; abandoned, it lets the run end, whose counts add up', async () => {
  const night = await nightUnderWay({ durations: { processing: { companyMappings: { baseMs: 3_600_000 } } } })
  await night.reaches('company_mappings', { state: 'accepted', task_status: 'InProgress' })

  const refused = await night.call('cancel', '1')
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/the service answered 409 \(task_not_cancellable: /)
  expect(refused.stderr).toMatch(/Processing has begun, so the task goes on/)
  expect(night.run.child.exitCode, 'the run waits on').toBeNull()

  const given = await night.call('abandon', '1')
  expect(given, given.stderr).toMatchObject({ code: 0 })
  expect(given.stdout).toMatch(
    /^Submission 1 \(company_mappings, accepted\) is given up\.\n.*3 rows is unknown; the next run/,
  )

  const ended = await night.run.ended
  expect(ended.code, ended.stderr).toBe(3)
  const { verdict, streams } = JSON.parse(ended.stdout) as RunReport
  expect(verdict).toBe('partial')
  expect(streams.find(({ stream }) => stream === 'properties')).toMatchObject({ pending: 3, sent: 3, unknown: 3 })
  expect(streams.find(({ stream }) => stream === 'calculator_settings')).toMatchObject({ sent: 0, parked: 3 })
  expect(await night.rowsOf(actions)).toMatchObject([
    { verb: 'cancel', submission_id: 1, rows: 3, result: expect.stringMatching(/^not cancelled: .*409/) },
    { verb: 'abandon', submission_id: 1, rows: 3, result: 'was accepted' },
  ])
  expect(JSON.parse((await night.call('unknown', '--json')).stdout)).toHaveLength(3)
  const { stdout } = await night.call('trace', 'H-0001')
  expect(stdout).toMatch(/abandoned: given up by .* while it was accepted/)
  expect(stdout).toMatch(
    /What people did\n.*: cancel submission 1 \(not cancelled.*\n.*: abandon submission 1 \(was accepted\)/,
  )

  for (const verb of ['abandon', 'cancel']) {
    expect(await night.call(verb, '1')).toMatchObject({ code: 1, stderr: expect.stringMatching(/submission_state/) })
    expect(await night.call(verb, '4711')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no submission 4711/),
    })
  }
}, 180_000)

test('a task that has not begun is cancelled; its rows are unknown, and the run goes on to what does not need them', async () => {
  const night = await nightUnderWay({ durations: { scheduledMs: 3_600_000 } })
  await night.reaches('company_mappings', { state: 'accepted' })
  const answer = await night.call('cancel', '1')
  expect(answer, answer.stderr).toMatchObject({ code: 0 })
  expect(answer.stdout).toMatch(/^Task [0-9a-f-]{36} of submission 1 \(company_mappings\) is cancelled\.\n/)
  expect(
    await night.world.sandboxPool.query("select status from sandbox.task where request = 'companyMappings'"),
  ).toMatchObject({
    rows: [{ status: 'cancelled' }],
  })
  await night.reaches('company_mappings', { state: 'settled', task_status: 'Cancelled' })
  const outcomes = await night.rowsOf(
    `select distinct outcome, outcome_code, held_by from nightferry.ledger where stream = 'properties'`,
  )
  expect(outcomes).toEqual([{ outcome: 'unknown', outcome_code: 'task_cancelled', held_by: null }])
  await night.reaches('calculators_search', { state: 'accepted' })
  expect(await night.rowsOf(actions)).toMatchObject([{ verb: 'cancel', result: 'cancelled' }])
}, 180_000)

test('cancel says of a task that has ended how it did, and of a request whose run has ended what reads or repeats it', async () => {
  const rarely = { NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: '3600000' }
  const night = await nightUnderWay({}, undefined, rarely)
  await night.reaches('company_mappings', { state: 'accepted', task_status: null })
  await vi.waitFor(async () => {
    const { rows } = await night.world.sandboxPool.query('select status from sandbox.task')
    expect(rows).toEqual([{ status: 'success' }])
  }, 60_000)
  const late = await night.call('cancel', '1')
  expect(late).toMatchObject({ code: 1, stdout: '' })
  expect(late.stderr).toContain('The task has ended (Success), and its outcome is read.')
  expect(late.stderr).not.toContain('goes on')
  await night.reaches('company_mappings', { state: 'settled', task_status: 'Success' })

  night.run.child.kill('SIGKILL')
  await night.run.ended
  await night.world.pool.query(`
    update nightferry.run set state = 'failed', finished_at = now();
    insert into nightferry.submission (run_id, kind, state, row_count, correlation_id)
    values (1, 'calculators_search', 'accepted', 0, '0b6c2f4e-0000-4000-8000-000000000001');
    insert into nightferry.run (job, trigger, scheduled_for, state, step)
    values ('pull-calculators', 'cli', now(), 'running', 'pull')`)
  const [search] = (await night.rowsOf('select max(submission_id)::int as id from nightferry.submission')) as {
    id: number
  }[]
  const given = await night.call('abandon', String(search?.id))
  expect(given, given.stderr).toMatchObject({ code: 0 })
  expect(given.stdout).toContain('Its run has ended; the next one searches again.')
}, 180_000)

test('an uncertain submission is given its task by a person, who cannot name another; nothing is sent twice', async () => {
  let lost = 0
  let proxy: AlteringProxy | undefined
  const night = await nightUnderWay({}, async (service) => {
    // The service has taken the first of them, and its answer is lost.
    proxy = await alteringProxy(service, ({ method, path }, answer) => {
      if (lost > 0 || method !== 'POST' || !path.endsWith(mappings)) return answer
      lost += 1
      return null
    })
    return proxy.url
  })
  onTestFinished(() => proxy?.[Symbol.asyncDispose]())
  await night.reaches('company_mappings', { state: 'uncertain' })
  expect(lost).toBe(1)
  const { rows } = await night.world.sandboxPool.query<{ id: string }>('select id from sandbox.task')
  expect(rows).toHaveLength(1)
  const ours = rows[0]?.id ?? ''
  const foreign = await fetch(new URL('/api/v2/bulk/calculators/search', night.world.sandboxUrl), {
    method: 'POST',
    headers: { authorization: 'demo-key', 'content-type': 'application/json' },
    body: '{}',
  })
  const { correlationId: others } = (await foreign.json()) as { correlationId: string }

  expect(await night.call('adopt', '1', 'soon')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no correlation id/),
  })
  expect(await night.call('adopt', '1', others)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/task_not_adoptable: .*BulkGetCompanyCalculators/),
  })
  expect(await night.call('adopt', '1', '0b6c2f4e-0000-4000-8000-000000000001')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/exchange_not_found/),
  })
  await night.reaches('company_mappings', { state: 'uncertain' })

  const adopted = await night.call('adopt', '1', ours)
  expect(adopted, adopted.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining(`is task ${ours}`) })
  const ended = await night.run.ended
  expect(ended.code, ended.stderr).toBe(0)
  expect(JSON.parse(ended.stdout)).toMatchObject({ verdict: 'succeeded' })
  const { rows: received } = await night.world.sandboxPool.query(
    `select from sandbox.request_log where phase = 'received' and path like '%${mappings}'`,
  )
  expect(received).toHaveLength(1)
  expect(await night.rowsOf(actions)).toMatchObject([{ verb: 'adopt', submission_id: 1, rows: 3 }])
}, 180_000)
