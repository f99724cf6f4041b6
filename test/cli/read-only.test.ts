import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { parse, stringify } from 'yaml'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { canaries } from '../helpers/canaries.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { demoConfig } from '../helpers/world.ts'
import { nightferry, start, workingFolder } from './nightferry-process.ts'
import { startWebhookWorld } from './webhook-world.ts'

const hooked = await ofThisFile(startWebhookWorld({ hotels: 6 }))
const { world } = hooked
const folder = await ofThisFile(workingFolder())
const own = await ofThisFile(testDatabase({ template: 'empty' }))
const patience = { timeout: 120_000, interval: 50 }
const onIdleError = () => {}
const environment = {
  EXCHANGE_API_KEY: canaries.apiKey,
  DATABASE_URL: own.url,
  NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: '100',
}
const pool = createPool(own.url, { max: 1, applicationName: 'nightferry tests', searchPath: schemaName, onIdleError })
afterAll(() => pool.end())
const count = async (what: string) => (await pool.query(`select from ${what}`)).rowCount
const read = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', 'reader.yaml'], environment)

beforeAll(async () => {
  // What there is to read: the night of somebody who sends.
  const sent = await nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig], world.environment())
  expect(sent.code, sent.stderr).toBe(0)
  const init = ['init', '--read-only', '--url', world.sandboxUrl, '--out', 'reader.yaml']
  const written = await nightferry(folder.path, init, environment)
  expect(written.stdout).toContain('run pull-calculators --config reader.yaml\n')
  expect((await read('migrate')).code).toBe(0)
})

test('a configuration that init writes to read only brings back everything, and no message asks for what sending needs', async () => {
  const before = await read('status')
  expect(before.stdout).toContain('There was no run yet. nightferry run pull-calculators starts one.')
  for (const job of ['refresh-reference', 'pull-calculators', 'search:companies', 'search:holders', 'search:answers']) {
    const ended = await read('run', job)
    expect(ended.code, `${job}: ${ended.stdout}${ended.stderr}`).toBe(0)
  }
  expect((await read('run', 'housekeeping')).code).toBe(0)
  expect(await count('calculator_values')).toBeGreaterThan(0)
  for (const search of ['companies', 'holders', 'answers']) {
    expect(await count(`documents where search = '${search}'`), search).toBeGreaterThan(0)
  }
  const looked = JSON.parse((await read('doctor', '--json')).stdout) as { findings: { id: string; level: string }[] }
  expect(looked.findings.filter(({ level }) => level === 'error' || level === 'warning')).toEqual([])
  const told = (await read('status')).stdout
  expect(told).not.toMatch(/nightly-sync|not compared/)
  const jobs = JSON.parse((await read('jobs', '--json')).stdout) as { jobs: { job: string }[] }
  expect(jobs.jobs.map(({ job }) => job)).toEqual([
    'refresh-reference',
    'pull-calculators',
    'search:companies',
    'search:holders',
    'search:answers',
    'housekeeping',
  ])
})

test.each(['run nightly-sync', 'run push', 'plan'])(
  'without streams nightferry %s says what sending needs, and which jobs need it not',
  async (verb) => {
    const ended = await read(...verb.split(' '))
    expect(ended.code).toBe(2)
    expect(ended.stderr).toMatch(
      /config_invalid: Settings are missing or wrong:\n {2}exchange\.customIdentifierId: is not/,
    )
    expect(ended.stderr).toMatch(
      /streams: names no stream.*Jobs that only read at the service need none: pull-calculators/,
    )
  },
)

test('a job that sends is not paused, and init takes nothing that says what is sent, where there are no streams', async () => {
  const paused = await read('jobs', 'pause', 'push')
  expect(paused.stderr).toContain(
    "push reads the partner's rows and sends them, and streams names no stream; there are",
  )
  const mixed = ['init', '--read-only', '--url', world.sandboxUrl, '--identifier', 'x', '--out', 'mixed.yaml']
  const ended = await nightferry(folder.path, mixed, environment)
  expect(ended.stderr).toContain('--read-only writes a configuration that sends nothing: leave --identifier out')
})

test('the daemon serves what only reads, answers why it does not send, and refuses a schedule of what would', async () => {
  const token = 'act-token-of-the-tests-0123456789'
  const { PARTNER_DATABASE_URL: _, ...hooks } = hooked.environment()
  const given = { ...hooks, ...environment, NIGHTFERRY_HTTP_PORT: '0', NIGHTFERRY_HTTP_TOKEN: token }
  const refused = ['serve', '--config', 'reader.yaml', '--set', 'jobs.nightly-sync.schedule=30 2 * * *']
  const ended = await nightferry(folder.path, refused, given)
  expect(ended.code).toBe(2)
  expect(ended.stderr).toMatch(/jobs\.nightly-sync\.schedule: is set, and streams names no stream/)

  const daemon = start(folder.path, ['serve', '--config', 'reader.yaml'], given)
  onTestFinished(async () => {
    daemon.child.kill('SIGTERM')
    await daemon.ended
  })
  await vi.waitFor(() => expect(daemon.stderr()).toMatch(/service_started|nightferry: /), patience)
  const { url } = JSON.parse(/.*"http_started".*/.exec(daemon.stderr())?.[0] ?? '{}') as { url: string }
  const ask = async (path: string, body?: object) => {
    const answer = await fetch(new URL(path, url), {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
  }
  const began = await ask('/v1/jobs/pull-calculators/runs', {})
  expect(began.status).toBe(202)
  await vi.waitFor(
    async () =>
      expect((await ask('/v1/tonight')).json).toMatchObject({ run: { run_id: began.json.run, state: 'finished' } }),
    patience,
  )
  await vi.waitFor(async () => expect(await count('webhook_event')).toBeGreaterThan(0), patience)
  for (const [path, body] of [
    ['/v1/jobs/nightly-sync/runs', {}],
    ['/v1/plan', {}],
  ] as const) {
    const why = "nightly-sync reads the partner's rows and sends them, and streams names no stream"
    expect(await ask(path, body)).toMatchObject({
      status: 404,
      json: { code: 'job_unknown', detail: expect.stringContaining(why) },
    })
  }
  expect(await ask('/freshz')).toMatchObject({ status: 200, json: { fresh: true } })
})

test('a job that only reads runs with a configuration that sends, without the secrets and ids that sending needs', async () => {
  const { exchange, ...rest } = parse(await readFile(demoConfig, 'utf8')) as Record<string, object>
  const { pull } = parse(await readFile(join(folder.path, 'reader.yaml'), 'utf8')) as { pull: object }
  const shared = { ...rest, pull, exchange: { ...exchange, customIdentifierId: null }, partner: {} }
  await writeFile(join(folder.path, 'shared.yaml'), stringify(shared))
  const given = { ...environment, EXCHANGE_BASE_URL: world.sandboxUrl }
  const run = async (...args: string[]) =>
    await nightferry(folder.path, ['run', ...args, '--config', 'shared.yaml'], given)
  const pulled = await run('pull-calculators')
  expect(pulled.code, pulled.stdout).toBe(0)
  const part = await run('nightly-sync', '--only', 'pull')
  expect(part.code, part.stdout).toBe(0)
  const whole = await run('nightly-sync')
  expect(whole.code).toBe(2)
  expect(whole.stderr).toMatch(/exchange\.customIdentifierId: is not set.*\n {2}partner\.url: is not set/)
})
