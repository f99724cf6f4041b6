import { expect, test, vi } from 'vitest'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { startWebhookWorld, type WebhookWorld } from '../cli/webhook-world.ts'
import { some } from '../helpers/some.ts'
import { demoConfig } from '../helpers/world.ts'

const common = ['--config', demoConfig]

/**
 * Sixty times as fast: a poll interval of 250 ms is one of 15 s, and webhooks go out once a second, which is a minute.
 */
const timeWarp = 60
const service = { timeWarp, webhookDispatchMs: 60_000 }

/** Tasks of five minutes: five seconds here. */
const fiveMinutes = { baseMs: 300_000, perItemUs: 0 }
const durations = {
  pendingMs: 1_000,
  scheduledMs: 1_000,
  jitter: 0.2,
  processing: {
    companyMappings: fiveMinutes,
    frameworkAnswersUpsert: fiveMinutes,
    calculatorsUpsert: fiveMinutes,
    calculatorsSearch: fiveMinutes,
    companiesUpsert: fiveMinutes,
    standardHoldersUpsert: fiveMinutes,
  },
}

const settings = { NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: '250', NIGHTFERRY_WEBHOOKS_MAX_POLL_INTERVAL_MS: '2000' }

type Told = { polls: number; settledMs: number | null }

/** A whole night, all rows sent. @returns what became of its tasks: of each its polls, and from event to settled. */
async function night(hooked: WebhookWorld, folder: string, environment: Record<string, string>): Promise<Told[]> {
  const call = (...args: string[]) => nightferry(folder, [...args, ...common], environment)
  expect((await call('run', 'nightly-sync')).code).toBe(0)
  const { rows } = await hooked.world.pool.query<Told>(
    `select polls, (extract(epoch from settled_at - (
         select min(first_at) from webhook_event e where e.submission_id = s.submission_id and ends)) * 1000)::float8 as "settledMs"
     from submission s where run_id = (select max(run_id) from run) and correlation_id is not null`,
  )
  // The next night sends everything again.
  expect((await call('resend', '--all')).code).toBe(0)
  return rows
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

test('with webhooks a task is settled within two seconds of its event, 95 of 100, and polled less often than without', async () => {
  await using hooked = await startWebhookWorld({ hotels: 6, durations, service })
  await using folder = await workingFolder()
  const without = await night(hooked, folder.path, { ...hooked.world.environment(), ...settings })

  const environment = { ...hooked.environment(), ...settings }
  const daemon = start(folder.path, ['serve', ...common], environment)
  await vi.waitFor(() => expect(daemon.stderr()).toContain('"webhooks_listening"'), { timeout: 60_000 })
  const learning = await night(hooked, folder.path, environment)
  await vi.waitFor(() => expect(daemon.stderr()).toContain('"webhooks_on_time"'), { timeout: 60_000 })
  const on = await night(hooked, folder.path, environment)
  daemon.child.kill('SIGTERM')
  await daemon.ended

  const settled = some([...learning, ...on].flatMap(({ settledMs }) => (settledMs === null ? [] : [settledMs])))
    .filter((ms) => ms > 0)
    .toSorted((a, b) => a - b)
  const p95 = settled[Math.min(settled.length - 1, Math.floor(settled.length * 0.95))] ?? Number.NaN
  const polls = [without, learning, on].map((tasks) => mean(some(tasks).map((task) => task.polls)))
  const figures = { tasks: [without, learning, on].map(({ length }) => length), polls, toldFirst: settled.length, p95 }
  process.stderr.write(`${JSON.stringify(figures)}\n`)
  expect(settled.length).toBeGreaterThan(0)
  expect(p95).toBeLessThanOrEqual(2_000)
  expect(polls[2]).toBeLessThan((polls[0] ?? 0) * 0.7)
}, 600_000)
