import { createHash, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { mutingProxy } from '../cli/muting-proxy.ts'
import { nightferry, type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { startWebhookWorld, type WebhookWorld } from '../cli/webhook-world.ts'
import { some } from '../helpers/some.ts'
import { demoConfig } from '../helpers/world.ts'
import { applicationEvent, bulkEvent, deliver, otherSecret } from '../webhooks/inbox-world.ts'

const common = ['--config', demoConfig]
const patience = { timeout: 90_000, interval: 50 }

/** A daemon that listens. */
async function serving(folder: string, environment: Record<string, string>): Promise<Running> {
  const running = start(folder, ['serve', ...common], environment)
  await vi.waitFor(() => expect(running.stderr()).toContain('"webhooks_listening"'), patience)
  return running
}

async function stop({ child, ended }: Running): Promise<void> {
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ code: 143 })
}

/** Polls so rare that a night of them would outlast the test. */
const hardlyPolling = { NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: '600000' }

const header = { headers: { 'x-hotel-group': 'a word of ours' } }
const stored = async ({ world }: WebhookWorld) =>
  (await world.pool.query('select event_id, topic, state, effect, deliveries, submission_id from webhook_event')).rows

test('a night that hardly polls is brought on by webhooks, which the verbs then show', async () => {
  await using hooked = await startWebhookWorld({ hotels: 3 })
  await using folder = await workingFolder()
  const environment = { ...hooked.environment(), ...hardlyPolling }
  const daemon = await serving(folder.path, environment)
  const night = await nightferry(folder.path, ['run', 'nightly-sync', ...common], environment)
  expect(night).toMatchObject({ code: 0 })
  expect(night.stdout).not.toContain('Webhooks are configured')

  const { rows } = await hooked.world.pool.query(
    `select s.submission_id, s.state, s.polls, s.error_code from submission s where correlation_id is not null`,
  )
  for (const { state, polls } of some(rows)) expect([state, polls]).toEqual(['settled', 1])
  const events = await vi.waitFor(async () => {
    const found = await stored(hooked)
    expect(found.filter(({ state }) => state !== 'done')).toEqual([])
    return found
  }, patience)
  expect(new Set(events.map(({ effect }) => effect))).toContain('look')
  for (const { submission_id } of some(events)) expect(submission_id).not.toBeNull()

  await hooked.administer('POST', `/webhooks/${hooked.webhookId}/test`)
  await vi.waitFor(async () => expect((await stored(hooked)).map(({ effect }) => effect)).toContain('test'), patience)
  expect(await deliver(hooked.url, bulkEvent(randomUUID()), { ...header, secret: otherSecret })).toBe(400)
  const told = events.find(({ effect }) => effect === 'look')
  await vi.waitFor(async () => {
    const shown = await nightferry(folder.path, ['webhooks', '--json', ...common], environment)
    expect(JSON.parse(shown.stdout)).toMatchObject({
      configured: true,
      listening: true,
      warning: null,
      score: { onTime: rows.length, late: 0, lost: 0 },
      refused: [{ reason: 'signature_mismatch', refused: 1 }],
      secrets: [createHash('sha256').update(hooked.secret).digest('hex').slice(0, 12)],
      events: expect.arrayContaining([expect.objectContaining({ topic: told?.topic, effect: 'look' })]),
    })
  }, patience)
  const text = await nightferry(folder.path, ['webhooks', ...common], environment)
  expect(text).toMatchObject({ code: 0, stdout: expect.stringContaining(`of the ${rows.length} newest tasks`) })
  expect(text.stdout + daemon.stderr()).not.toContain(hooked.secret.slice('whsec_'.length))
  await stop(daemon)
}, 180_000)

test('a secret that was rotated is taken from the file at SIGHUP, beside the old one and then alone, and a wrong one is refused', async () => {
  await using hooked = await startWebhookWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const { EXCHANGE_WEBHOOK_SECRET: _, ...given } = hooked.environment()
  const file = join(folder.path, 'secrets')
  await writeFile(file, `${hooked.secret}\n`)
  const daemon = await serving(folder.path, { ...given, EXCHANGE_WEBHOOK_SECRET_FILE: file })
  const count = (event: string) => daemon.stderr().split(`"${event}"`).length - 1
  const reloaded = async (text: string, event: string) => {
    const before = count(event)
    await writeFile(file, text)
    daemon.child.kill('SIGHUP')
    await vi.waitFor(() => expect(count(event)).toBe(before + 1), patience)
  }
  const answers = async () => [
    await deliver(hooked.url, bulkEvent(randomUUID()), { ...header, secret: hooked.secret }),
    await deliver(hooked.url, bulkEvent(randomUUID()), { ...header, secret: otherSecret }),
  ]
  expect(await answers()).toEqual([204, 400])
  await reloaded(`${hooked.secret}\n${otherSecret}\n`, 'configuration_reloaded')
  expect(await answers()).toEqual([204, 204])
  await reloaded('whsec_short\n', 'configuration_refused')
  expect(await answers()).toEqual([204, 204])
  await reloaded(`${otherSecret}\n`, 'configuration_reloaded')
  expect(await answers()).toEqual([400, 204])
  expect(daemon.stderr()).not.toContain('settings_need_restart')
  expect(daemon.stderr()).not.toContain(otherSecret.slice('whsec_'.length))
  await stop(daemon)
}, 180_000)

test('R13: a night whose webhooks are all lost is finished by polls, and its report and status say that none came', async () => {
  await using hooked = await startWebhookWorld({ hotels: 2, service: { chaos: new Map([['webhooks-lost', 1]]) } })
  await using folder = await workingFolder()
  const environment = hooked.environment()
  const daemon = await serving(folder.path, environment)
  expect(await nightferry(folder.path, ['run', 'nightly-sync', ...common], environment)).toMatchObject({ code: 0 })
  expect(await stored(hooked)).toEqual([])
  // As if it had been some minutes ago: what ended a moment ago may yet be told of.
  const ago = async (table: string, column: string) =>
    hooked.world.pool.query(`update ${table} set ${column} = ${column} - interval '10 minutes'`)
  await ago('webhook_receiver', 'since')
  await ago('submission', 'terminal_at')
  const words = /none told of the \d+ tasks that ended/
  expect((await nightferry(folder.path, ['status', ...common], environment)).stdout).toMatch(words)
  const shown = await nightferry(folder.path, ['webhooks', ...common], environment)
  expect(shown.stdout).toMatch(words)
  expect(shown).toMatchObject({ code: 3, stdout: expect.stringContaining('task that no webhook told of') })
  const second = await nightferry(folder.path, ['run', 'nightly-sync', ...common], environment)
  expect(second.stdout).toMatch(words)
  await stop(daemon)
}, 180_000)

test('R13: webhooks that come 8.5 hours late change nothing', async () => {
  await using hooked = await startWebhookWorld({ hotels: 2, service: { chaos: new Map([['webhooks-late', 1]]) } })
  await using folder = await workingFolder()
  const environment = hooked.environment()
  const daemon = await serving(folder.path, environment)
  expect(await nightferry(folder.path, ['run', 'nightly-sync', ...common], environment)).toMatchObject({ code: 0 })
  const submissions = async () =>
    (await hooked.world.pool.query('select submission_id, state, polls, settled_at, task from submission')).rows
  const before = await submissions()
  expect(await stored(hooked)).toEqual([])
  await hooked.administer('POST', '/clock/advance', { ms: 8.5 * 3_600_000 + 60_000 })
  const events = await vi.waitFor(async () => {
    const found = await stored(hooked)
    expect(found.length).toBeGreaterThanOrEqual(before.length)
    expect(found.filter(({ state }) => state !== 'done')).toEqual([])
    return found
  }, patience)
  for (const { effect } of some(events)) expect(effect).toBe('ended')
  expect(await submissions()).toEqual(before)
  await stop(daemon)
}, 180_000)

test('an event that was committed and not answered, for the process was killed, has no second effect when it comes again', async () => {
  await using hooked = await startWebhookWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const event = applicationEvent(randomUUID(), 'Approved')
  const how = { ...header, secret: hooked.secret }
  {
    await using proxy = await mutingProxy(hooked.world.databaseUrl, 'insert into webhook_event')
    const daemon = await serving(folder.path, { ...hooked.environment(), DATABASE_URL: proxy.url })
    const unanswered = deliver(hooked.url, event, how).then(
      (status) => `answered ${status}`,
      () => 'no answer',
    )
    await vi.waitFor(async () => expect(await stored(hooked)).toHaveLength(1), patience)
    daemon.child.kill('SIGKILL')
    expect(await unanswered).toBe('no answer')
    await daemon.ended
  }
  const again = await serving(folder.path, hooked.environment())
  await vi.waitFor(async () => expect(await stored(hooked)).toMatchObject([{ state: 'done', deliveries: 1 }]), patience)
  const processed = async () => (await hooked.world.pool.query('select processed_at, effect from webhook_event')).rows
  const before = await processed()
  expect(await deliver(hooked.url, event, how)).toBe(204)
  expect(await stored(hooked)).toMatchObject([{ state: 'done', effect: 'kept', deliveries: 2 }])
  expect(await processed()).toEqual(before)
  await stop(again)
}, 120_000)

test('applications are listed by what was told of them in any order, one by its events, and by status', async () => {
  await using hooked = await startWebhookWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const environment = hooked.environment()
  const call = (...args: string[]) => nightferry(folder.path, [...args, ...common], environment)
  expect((await call('applications')).stdout).toBe('No webhook told of such an application.\n')
  const daemon = await serving(folder.path, environment)
  const [one, two] = [randomUUID(), randomUUID()]
  const events = [
    applicationEvent(one, 'Approved', '2026-11-02T00:00:00.000Z'),
    applicationEvent(one, 'AwaitingApplicationReview', '2026-11-01T00:00:00.000Z'),
    applicationEvent(one, null, '2026-11-03T00:00:00.000Z'),
    applicationEvent(two, 'Rejected\u001b[31m', '2026-10-01T00:00:00.000Z'),
  ]
  for (const event of events) expect(await deliver(hooked.url, event, { ...header, secret: hooked.secret })).toBe(204)
  await vi.waitFor(async () => {
    expect(JSON.parse((await call('applications', '--json')).stdout)).toMatchObject([
      { application_id: one, status: 'Approved', status_at: '2026-11-02T00:00:00.000Z', events: 3, profile_id: 4711 },
      { application_id: two, events: 1, answers_changed_at: null },
    ])
  }, patience)
  expect((await call('applications')).stdout).toMatch(/Approved .*2026-11-02 00:00:00 .*2026-11-03 00:00:00/)
  expect((await call('applications')).stdout).not.toContain('\u001b')
  expect(JSON.parse((await call('applications', '--status', 'Approved', '--json')).stdout)).toHaveLength(1)
  expect((await call('applications', one)).stdout).toMatch(/answers[\s\S]*Approved[\s\S]*AwaitingApplicationReview/)
  await stop(daemon)
}, 120_000)

test('set-up says what to enter at the service, checks the address by its rules, and calls nobody', async () => {
  await using folder = await workingFolder()
  const call = (...args: string[]) => nightferry(folder.path, ['webhooks', ...args, ...common])
  const shown = await call('set-up', '--url', 'https://hooks.example.com/webhooks')
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  expect(shown.stdout).toContain('The API has no call for it')
  expect(shown.stdout).toContain('bulk.task.partially_succeeded')
  expect(JSON.parse((await call('set-up', '--json')).stdout)).toMatchObject({ by_api: false, url: null })
  for (const [url, words] of [
    ['http://hooks.example.com/', 'https://'],
    ['https://user:word@hooks.example.com/', 'credentials'],
    ['https://10.0.0.1/', 'private'],
    ['https://[::1]/', 'loopback'],
    ['https://localhost/', 'loopback'],
    [`https://hooks.example.com/${'x'.repeat(2048)}`, '2048'],
    ['hooks', 'is no address'],
  ] as const) {
    expect(await call('set-up', '--url', url)).toMatchObject({ code: 2, stderr: expect.stringContaining(words) })
  }
})

test('serve refuses a secret that is none before it starts anything, and shows none of it', async () => {
  await using folder = await workingFolder()
  const short = `whsec_${Buffer.alloc(15, 3).toString('base64')}`
  const refused = await nightferry(folder.path, ['serve', ...common], {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    EXCHANGE_WEBHOOK_SECRET: `${otherSecret},${short}`,
  })
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('webhook_secret_invalid: Webhook secret 2'),
  })
  expect(refused.stderr).not.toContain(short.slice(10))
  const shown = await nightferry(folder.path, ['config', 'print', ...common], { EXCHANGE_WEBHOOK_SECRET: otherSecret })
  expect(shown.code).toBe(0)
  expect(shown.stdout).not.toContain(otherSecret.slice(10))
})

test('while nothing listens, status says so if webhooks are configured, and is silent if they are not', async () => {
  await using hooked = await startWebhookWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const call = (environment: Record<string, string>) => nightferry(folder.path, ['status', ...common], environment)
  expect((await call(hooked.environment())).stdout).toContain('nothing listens for them')
  expect((await call(hooked.world.environment())).stdout).not.toContain('ebhooks')
})
