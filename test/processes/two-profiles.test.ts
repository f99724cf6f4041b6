import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, test, vi } from 'vitest'
import { parse, stringify } from 'yaml'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/schema-standing.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import {
  demoGroup,
  otherGroup,
  otherIdentifierProperty,
  partnerIdProperty,
} from '../../src/sandbox/catalogue/accounts.ts'
import { nightferry, type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { contract } from '../exchange/test-client.ts'
import { canaries } from '../helpers/canaries.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { bearer, posted, tokens } from '../http/served.ts'

const patience = { timeout: 150_000, interval: 100 }

type Demo = {
  exchange: Record<string, unknown>
  pull: Record<string, unknown>
  streams: Record<string, { query: string }>
}

/** A profile with a hotel group, a configuration and a database of its own, and a receiver of webhooks. */
type Profile = {
  name: string
  key: string
  config: string
  folder: string
  pool: pg.Pool
  environment: Record<string, string>
  hotels: string[]
}

const hotelsOf = (numbers: number[]) => numbers.map((number) => `H-000${number}`)
const settingsOf = [
  { name: 'northern', key: canaries.apiKey, identifier: partnerIdProperty, group: demoGroup, hotels: [1, 2, 3] },
  { name: 'harbour', key: 'other-key', identifier: otherIdentifierProperty, group: otherGroup, hotels: [4, 5, 6] },
]

async function profileOf(
  world: World,
  { name, key, identifier, group, hotels }: (typeof settingsOf)[number],
  made: AsyncDisposableStack,
): Promise<Profile> {
  const folder = made.use(await workingFolder()).path
  const database = await testDatabase({ template: 'empty' })
  const pool = createPool(database.url, {
    max: 3,
    applicationName: 'nightferry tests',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  made.defer(() => pool.end())
  const demo = parse(readFileSync(demoConfig, 'utf8')) as Demo
  Object.assign(demo.exchange, { customIdentifierId: identifier.id, groupId: group.id })
  Object.assign(demo.pull, { customPropertyIds: [identifier.id] })
  // Brand and rooms are properties of the first profile alone.
  if (name !== 'northern') delete demo.streams.custom_property_values
  for (const stream of Object.values(demo.streams)) stream.query += ` where h.hotel_id in (${hotels.join(', ')})`
  const config = join(folder, 'nightferry.yaml')
  writeFileSync(config, stringify(demo))
  const port = await freePort()
  const { test: _, ...topics } = contract.webhookTopics
  const asked = await fetch(`${world.sandboxUrl}/sandbox/webhooks`, {
    method: 'POST',
    headers: { authorization: key, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/webhooks`, topics: Object.values(topics) }),
  })
  const { secret } = (await asked.json()) as { secret: string }
  const environment = {
    ...world.environment(),
    EXCHANGE_API_KEY: key,
    DATABASE_URL: database.url,
    EXCHANGE_WEBHOOK_SECRET: secret,
    NIGHTFERRY_WEBHOOKS_PORT: String(port),
    NIGHTFERRY_HTTP_PORT: String(await freePort()),
    NIGHTFERRY_HTTP_TOKEN: tokens.act,
    NIGHTFERRY_HTTP_READ_TOKEN: tokens.read,
  }
  return { name, key, config, folder, pool, environment, hotels: hotelsOf(hotels) }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const serve = ({ folder, config }: Profile, environment: Record<string, string>) =>
  start(folder, ['serve', '--config', config], environment)

async function atWork(daemon: Running): Promise<void> {
  await vi.waitFor(() => expect(daemon.stderr()).toMatch(/"service_started"|nightferry: /), patience)
  expect(daemon.stderr()).toContain('"service_started"')
}

async function rowsOf<Row extends object>({ pool }: Profile, text: string): Promise<Row[]> {
  return (await pool.query<Row>(text)).rows
}

test('two daemons that serve two profiles from one server at the same time tell of nothing but their own, and refuse to share', async () => {
  await using made = new AsyncDisposableStack()
  const world = made.use(
    await startWorld({
      hotels: 6,
      durations: { processing: { companyMappings: { baseMs: 4_000, perItemUs: 0 } } },
      service: { allowInsecureWebhooks: true, webhookDispatchMs: 200 },
    }),
  )
  const profiles: Profile[] = []
  for (const settings of settingsOf) profiles.push(await profileOf(world, settings, made))
  const [northern, harbour] = profiles
  if (northern === undefined || harbour === undefined) throw new Error('there are two profiles')
  const daemons = profiles.map((profile) => ({ profile, daemon: serve(profile, profile.environment) }))
  made.defer(async () => {
    for (const { daemon } of daemons) daemon.child.kill('SIGTERM')
    await Promise.all(daemons.map(({ daemon }) => daemon.ended))
  })
  for (const { daemon } of daemons) await atWork(daemon)

  const api = ({ environment }: Profile, path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${environment.NIGHTFERRY_HTTP_PORT}${path}`, {
      ...init,
      headers: { ...bearer(tokens.act), ...(init.headers as Record<string, string>) },
    })
  await Promise.all(
    profiles.map(async (profile) => {
      const answer = await api(profile, '/v1/jobs/nightly-sync/runs', posted({}))
      expect(answer.status, await answer.text()).toBe(202)
    }),
  )
  for (const profile of profiles) {
    await vi.waitFor(async () => {
      const runs = await rowsOf<{ state: string }>(profile, `select state from run where job = 'nightly-sync'`)
      expect(runs.map(({ state }) => state)).toEqual(['finished'])
    }, patience)
  }

  const runs = new Map<string, { run_id: number; began: number; ended: number; report: RunReport }>()
  const tasks = new Map<string, string[]>()
  for (const profile of profiles) {
    const [run] = await rowsOf<{ run_id: number; began: number; ended: number; report: RunReport }>(
      profile,
      `select run_id, extract(epoch from started_at)::float8 as began, extract(epoch from finished_at)::float8 as ended, report
       from run where job = 'nightly-sync'`,
    )
    if (run === undefined) throw new Error('a run has ended')
    runs.set(profile.name, run)
    const sent = await rowsOf<{ id: string }>(
      profile,
      'select correlation_id as id from submission where correlation_id is not null',
    )
    tasks.set(
      profile.name,
      some(sent).map(({ id }) => id),
    )
  }
  const [one, other] = [...runs.values()]
  // Runs, submissions and pages of both have the same numbers, and so have their locks.
  expect(one?.run_id).toBe(other?.run_id)
  expect(one?.began).toBeLessThan(other?.ended ?? 0)
  expect(other?.began).toBeLessThan(one?.ended ?? 0)

  for (const { profile, daemon } of daemons) {
    const foreign = profile === northern ? harbour : northern
    const { report } = runs.get(profile.name) ?? {}
    expect(report, profile.name).toMatchObject({ verdict: 'succeeded', remarks: [] })
    const hotels = await rowsOf<{ partner_id: string }>(profile, 'select distinct partner_id from ledger order by 1')
    expect(hotels.map(({ partner_id }) => partner_id)).toEqual(profile.hotels)
    const waiting = await rowsOf(profile, `select * from ledger where accepted_hash is distinct from desired_hash`)
    expect(waiting).toEqual([])
    const mapped = await rowsOf<{ partner_id: string }>(profile, 'select partner_id from mapping order by 1')
    expect(mapped.map(({ partner_id }) => partner_id)).toEqual(profile.hotels)
    const [destination] = await rowsOf<{ keys: number }>(profile, 'select count(*)::int as keys from destination_key')
    expect(destination?.keys).toBe(1)

    // The log: tasks of its own, and none of the other's.
    const log = daemon.stderr()
    for (const id of tasks.get(profile.name) ?? []) expect(log).toContain(id)
    for (const id of tasks.get(foreign.name) ?? []) expect(log).not.toContain(id)

    // Webhooks: each event is about a request of its own, and none was refused.
    const events = await vi.waitFor(async () => {
      const found = await rowsOf<{ state: string; submission_id: number | null }>(
        profile,
        `select state, submission_id from webhook_event`,
      )
      expect(some(found).filter(({ state }) => state !== 'done')).toEqual([])
      return found
    }, patience)
    expect(events.every(({ submission_id }) => submission_id !== null)).toBe(true)
    expect(await rowsOf(profile, 'select * from webhook_refusal')).toEqual([])

    // Metrics count its own rows; they are counted every few seconds.
    await vi.waitFor(async () => {
      const metrics = await (await api(profile, '/metrics', { headers: bearer(tokens.read) })).text()
      const [counted] = metrics
        .split('\n')
        .filter((line) => /^nightferry_rows\{/.test(line) && /"properties"/.test(line) && /"accepted"/.test(line))
      expect(counted).toMatch(new RegExp(` ${profile.hotels.length}$`))
    }, patience)
  }

  // At the service each task is of the profile whose key sent it.
  const { rows: received } = await world.sandboxPool.query<{ profile_id: number; ids: string[] }>(
    'select profile_id, array_agg(id::text) as ids from sandbox.task group by profile_id order by profile_id',
  )
  expect(received.map(({ ids }) => ids.toSorted())).toEqual(profiles.map(({ name }) => tasks.get(name)?.toSorted()))

  // Messages of both would name the same host, unless each destination has a name.
  for (const { name, folder, config, environment } of profiles) {
    const named = await nightferry(folder, ['destination', 'same', '--name', name, '--config', config], environment)
    expect(named.code, named.stderr).toBe(0)
    const again = await nightferry(folder, ['destination', '--json', '--config', config], environment)
    expect(JSON.parse(again.stdout)).toMatchObject({ destinations: [{ name }], changed: [] })
  }

  // What must not be shared is refused, and says what to do.
  const refused = async (shared: Record<string, string>) => {
    const { code, stderr } = await serve(harbour, { ...harbour.environment, ...shared }).ended
    expect(code).toBe(1)
    return stderr.split('\n').filter((line) => line.startsWith('nightferry: '))
  }
  const own = { NIGHTFERRY_HTTP_PORT: '0', NIGHTFERRY_WEBHOOKS_PORT: String(await freePort()) }
  const taken = (name: string) => ({ [name]: northern.environment[name] ?? '' })
  const [database, http, webhooks] = await Promise.all([
    refused({ ...own, ...taken('DATABASE_URL') }),
    refused({ NIGHTFERRY_WEBHOOKS_PORT: String(await freePort()), ...taken('NIGHTFERRY_HTTP_PORT') }),
    refused({ NIGHTFERRY_HTTP_PORT: '0', ...taken('NIGHTFERRY_WEBHOOKS_PORT') }),
  ])
  expect(database).toEqual([
    expect.stringMatching(
      /^nightferry: database_of_another_profile: Another process works with this database.*Several profiles/,
    ),
  ])
  expect(http).toEqual([expect.stringMatching(/^nightferry: http_unavailable: .*another process listens there/)])
  expect(webhooks).toEqual([
    expect.stringMatching(/^nightferry: webhooks_cannot_listen: .*something else listens there/),
  ])
  // A person who calls a verb with the other's database is told by the run.
  const run = await nightferry(harbour.folder, ['run', 'nightly-sync', '--config', harbour.config], {
    ...harbour.environment,
    ...taken('DATABASE_URL'),
  })
  expect(run.code).toBe(1)
  expect(`${run.stdout}${run.stderr}`).toContain('destination_changed')
  for (const profile of profiles) expect((await api(profile, '/readyz')).status, profile.name).toBe(200)
}, 400_000)
