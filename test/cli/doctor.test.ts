import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Finding } from '../../src/doctor/ward.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { type Ended, nightferry, nightferryProcess, workingFolder } from './nightferry-process.ts'

type Diagnosis = { level: string; counts: Record<string, number>; findings: Finding[] }

const world = await ofThisFile(startWorld({ hotels: 6 }))
const folder = await ofThisFile(workingFolder())

async function diagnose(env: Record<string, string> = {}, ...args: string[]): Promise<Ended & Diagnosis> {
  const ended = await nightferry(folder.path, ['doctor', '--config', demoConfig, '--json', ...args], {
    ...world.environment(),
    ...env,
  })
  return { ...ended, ...(JSON.parse(ended.stdout) as Diagnosis) }
}

const of = (diagnosis: Diagnosis, id: string) => diagnosis.findings.filter((finding) => finding.id === id)
const levelsOf = (diagnosis: Diagnosis, id: string) => of(diagnosis, id).map(({ level }) => level)

describe('before the first night', () => {
  test('an empty database is advice, and every check that needs its tables says so', async () => {
    const found = await diagnose()
    expect(of(found, 'database_schema')).toMatchObject([{ level: 'advice', todo: 'nightferry migrate' }])
    expect(of(found, 'last_runs')).toMatchObject([
      { level: 'advice', made: false, what: 'not looked at: see database_schema' },
    ])
    expect(levelsOf(found, 'service_key')).toEqual(['ok'])
    expect(levelsOf(found, 'stream_query')).toEqual(Array(7).fill('ok'))
    expect(found.code).toBe(3)
  })
  test('settings with which serve would not start are errors, each by its name', async () => {
    const well = await diagnose()
    expect(of(well, 'serving')).toMatchObject([{ level: 'ok' }])
    expect(of(well, 'webhook_receiver')).toMatchObject([{ level: 'ok' }])
    const open = await diagnose({ NIGHTFERRY_HTTP_PORT: '0', NIGHTFERRY_HTTP_HOST: '0.0.0.0' })
    expect(of(open, 'serving').map(({ level, subject }) => [level, subject])).toEqual([
      ['error', 'http.token'],
      ['error', 'http.certificateFile'],
      ['error', 'http.allowedHosts'],
    ])
    const short = await diagnose({ EXCHANGE_WEBHOOK_SECRET: 'whsec_c2hvcnQ=' })
    expect(of(short, 'serving')).toMatchObject([{ level: 'error' }])
    expect(of(short, 'serving')[0]?.what).toContain('fewer than 16 bytes')
    expect(short.code).toBe(1)
  })
  test('traces that are asked for without the library that sends them are a warning', async () => {
    const missing = pathToFileURL(join(import.meta.dirname, '../processes/fixtures/without-sdk.ts')).href
    const env = { ...world.environment(), OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
    const doctor = async (more: Record<string, string>) => {
      const args = ['doctor', '--config', demoConfig, '--json']
      const ended = await nightferryProcess(folder.path, args, { ...env, ...more })
      return (JSON.parse(ended.stdout) as Diagnosis).findings.filter(({ id }) => id === 'tracing')
    }
    expect(await doctor({})).toMatchObject([{ level: 'ok' }])
    const without = await doctor({ NODE_OPTIONS: `--import ${missing}` })
    expect(without).toMatchObject([{ level: 'warning' }])
    expect(without[0]?.todo).toContain('npm install @opentelemetry/sdk-node')
  })
  test('an embedded server that was never started is advice, and is not made', async () => {
    const found = await diagnose({ DATABASE_URL: 'embedded' })
    expect(of(found, 'database_reached')).toMatchObject([{ level: 'advice' }])
    expect(of(found, 'database_reached')[0]?.what).toContain('There is no embedded server in')
    expect(of(found, 'database_server')).toMatchObject([{ made: false, what: 'not looked at: see database_reached' }])
  })
})

test('a SQLite file as the partner database is looked at to the end, and the exit code is that of the findings', async () => {
  const file = join(folder.path, 'house.db')
  const house = new DatabaseSync(file)
  house.exec(`create table house (code text, name text, country text);
              insert into house values ('H-1', 'One', 'DK')`)
  house.close()
  const query = `select code as partner_id, name, null as street, null as latitude, null as longitude, country as country_code,
                        null as airport_code, null as hotel_code, null as booking_id from house`
  await writeFile(
    join(folder.path, 'house.yaml'),
    JSON.stringify({
      exchange: { customIdentifierId: catalogue.customIdentifierId, groupId: catalogue.groupId },
      streams: { properties: { query, capture: 'snapshot' } },
    }),
  )
  const ended = await nightferry(folder.path, ['doctor', '--config', 'house.yaml', '--json'], {
    ...world.environment(),
    PARTNER_DATABASE_URL: pathToFileURL(file).href,
  })
  expect(ended.stderr).toBe('')
  const found = JSON.parse(ended.stdout) as Diagnosis
  expect(found.findings.filter(({ id }) => id === 'stream_query')).toMatchObject([{ level: 'ok' }])
  expect({ level: found.level, code: ended.code }).toEqual({ level: 'warning', code: 3 })
})

describe('after a night', () => {
  let found: Ended & Diagnosis
  beforeAll(async () => {
    const args = ['run', 'nightly-sync', '--config', demoConfig]
    expect((await nightferry(folder.path, args, world.environment())).stdout).toContain('Run 1')
    found = await diagnose()
  })
  test('every check is made', () => {
    expect(found.findings.filter(({ made }) => !made)).toEqual([])
    expect(found.findings.length).toBeGreaterThan(35)
    expect(found.findings.filter(({ level }) => level === 'error')).toEqual([])
  })
  test('the profile, the group and the identifier are told by their names', () => {
    expect(of(found, 'service_profile').map(({ what }) => what)).toEqual([
      "The key's profile shows 1 group and 4 custom properties, 1 of them identifiers",
      'Properties are named by "Partner id"',
      'Calculators go to the group "All hotels"',
    ])
  })
  test('a role that owns the tables of the partner is warned of, with what it could write', () => {
    const [role] = of(found, 'partner_role')
    expect(role).toMatchObject({ level: 'warning' })
    expect(role?.what).toMatch(/administrator|hotelier\.hotel/)
  })
  test('each cursor is served by the index that its table has', () => {
    const cursors = of(found, 'stream_cursor')
    expect(cursors.map(({ subject }) => subject)).toContain('framework_answers')
    expect(cursors.filter(({ what }) => !what.includes('served by an index'))).toEqual([])
  })
  test('the hosts of result files are resolved and judged', () => {
    expect(of(found, 'download_host')).toMatchObject([
      { level: 'ok', subject: expect.stringMatching(/^127/) as string },
    ])
  })
  test('all clocks are compared', () => {
    const clocks = ['clock_of_database', 'clock_of_partner', 'clock_of_service'].flatMap((id) => levelsOf(found, id))
    expect(clocks).toEqual(['ok', 'ok', 'ok'])
  })
  test('nothing was changed, and nothing was sent', async () => {
    const count = async () => {
      const { rows } = await world.sandboxPool.query<{ calls: string }>(
        `select count(*)::text as calls from request_log where method <> 'GET'`,
      )
      return rows[0]?.calls
    }
    const before = await count()
    expect(Number(before)).toBeGreaterThan(0)
    await diagnose()
    expect(await count()).toBe(before)
  })
  test('the text names each finding with its level, why and what to do', async () => {
    const ended = await nightferry(folder.path, ['doctor', '--config', demoConfig], world.environment())
    expect(ended.stdout).toContain('The service, in the order of its troubleshooting')
    expect(ended.stdout).toMatch(/ {2}WARNING {2}partner_role: .*\n[\s\S]*Why it matters: [\s\S]*What to do: /)
    expect(ended.stdout).toMatch(/0 errors, \d+ warnings?, \d+ pieces? of advice, \d+ checks are well\.\n$/)
    const quiet = await nightferry(folder.path, ['doctor', '--quiet', '--config', demoConfig], world.environment())
    expect(quiet.stdout).not.toMatch(/^ {2}ok /m)
    expect(quiet.stdout.split('\n').at(-2)).toBe(ended.stdout.split('\n').at(-2))
  })
  test('an index that is gone, a cursor that is no time and a query that fails are found, each by its stream', async () => {
    const path = join(folder.path, 'odd.yaml')
    await writeFile(
      path,
      `streams:
  properties:
    query: select code as partner_id, name, street, latitude, longitude, country_code, airport_code, hotel_code, booking_id, greatest(updated_at, now()) as changed from hotelier.hotel
    cursor: changed
  custom_property_values:
    query: select 'H' as partner_id, property_id, name as value, attribute_id from hotelier.attribute
    cursor: attribute_id
    requires: []
  standard_holders:
    query: select nothing from nowhere
    cursor: updated_at
`,
    )
    const ended = await nightferry(folder.path, ['doctor', '--json', '--config', path], {
      ...world.environment(),
      NIGHTFERRY_EXCHANGE_CUSTOM_IDENTIFIER_ID: '00000000-0000-4000-8000-000000000001',
    })
    const odd = JSON.parse(ended.stdout) as Diagnosis
    const words = (id: string) => of(odd, id).map(({ level, subject, what }) => `${level} ${subject}: ${what}`)
    expect(words('stream_cursor')).toEqual([
      'advice properties: The cursor changed (timestamp with time zone) is served by no index: all rows are read every night',
      'warning custom_property_values: The cursor attribute_id (smallint) is no time: a run misses rows that are committed late until the next full comparison',
      'warning standard_holders: not looked at: see stream_query',
    ])
    expect(words('stream_query').at(-1)).toContain(
      'error standard_holders: The query of the stream standard_holders failed',
    )
    expect(words('requirements')).toEqual(['warning null: sent without waiting for properties: custom_property_values'])
    expect(words('service_profile').join()).toContain('is none that this key can see')
    expect(words('service_destination').join()).toContain('the identifier is another')
    expect(ended.code).toBe(1)
  })
  test('a partner role that can only read is well', async () => {
    const admin = new pg.Client({ connectionString: world.partnerUrl })
    await admin.connect()
    const role = `reader_${process.pid}`
    try {
      await admin.query(`create role ${role} login password 'only-reading'`)
      await admin.query(`grant usage on schema hotelier to ${role}`)
      await admin.query(`grant select on all tables in schema hotelier to ${role}`)
      const url = new URL(world.partnerUrl)
      url.username = role
      url.password = 'only-reading'
      const narrow = await diagnose({ PARTNER_DATABASE_URL: url.href })
      expect(of(narrow, 'partner_role')).toMatchObject([{ level: 'ok', what: 'The role can only read' }])
      expect(of(narrow, 'partner_transactions')).toMatchObject([{ level: 'advice' }])
      expect(levelsOf(narrow, 'stream_query')).toEqual(Array(7).fill('ok'))
      await admin.query(`grant update (name) on hotelier.hotel to ${role}`)
      const writing = await diagnose({ PARTNER_DATABASE_URL: url.href })
      expect(of(writing, 'partner_role')).toMatchObject([
        { level: 'warning', what: 'The role could write hotelier.hotel' },
      ])
    } finally {
      await admin.query(`drop owned by ${role}`)
      await admin.query(`drop role ${role}`)
      await admin.end()
    }
  })
})

describe('in trouble', () => {
  test('a wrong key is one error, and the other checks go on', async () => {
    const found = await diagnose({ EXCHANGE_API_KEY: 'Bearer nobodys-key-12345' })
    const [key] = of(found, 'service_key')
    expect(key).toMatchObject({ level: 'error' })
    expect(key?.what).toContain('begins with a scheme')
    expect(of(found, 'service_profile')).toMatchObject([{ made: false, what: 'not looked at: see service_key' }])
    expect(levelsOf(found, 'stream_query')).toEqual(Array(7).fill('ok'))
    expect(found.code).toBe(1)
  })
  test('a partner, a database and a service that are down are three errors, within seconds', async () => {
    const found = await diagnose({
      PARTNER_DATABASE_URL: 'postgres://reader:partner-secret-77@127.0.0.1:1/hotels',
      DATABASE_URL: 'postgres://nightferry:own-secret-88@127.0.0.1:1/own',
      EXCHANGE_BASE_URL: 'http://127.0.0.1:1',
    })
    for (const id of ['partner_reached', 'database_reached', 'service_key'])
      expect(levelsOf(found, id)).toEqual(['error'])
    expect(found.stdout).not.toContain('secret-77')
    expect(found.stdout).not.toContain('secret-88')
    expect(levelsOf(found, 'configuration')).toEqual(['ok'])
  })
  test('a file of the partner that is no database is an error that says so, and no word of rights stands beside it', async () => {
    const path = join(folder.path, 'text.db')
    await writeFile(path, 'a text, and no database. '.repeat(100))
    const [reached] = of(await diagnose({ PARTNER_DATABASE_URL: pathToFileURL(path).href }), 'partner_reached')
    expect(reached?.what).toContain('It is no file of SQLite, or is encrypted.')
    expect(reached?.todo).toBe('do what this message says')
  })
  test('a configuration that cannot be read names each problem, and is an error like any other', async () => {
    const path = join(folder.path, 'broken.yaml')
    await writeFile(path, 'exchange:\n  pollIntervalMs: soon\n  apikey: x\n')
    const ended = await nightferry(folder.path, ['doctor', '--json', '--config', path])
    const found = JSON.parse(ended.stdout) as Diagnosis
    expect(ended.code).toBe(1)
    expect(of(found, 'configuration').map(({ subject }) => subject)).toEqual(['exchange.pollIntervalMs', 'exchange'])
    expect(of(found, 'partner_reached')).toMatchObject([{ made: false, what: 'not looked at: see configuration' }])
  })
  test('a service that never answers takes its time, and no more', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = silent.address() as { port: number }
      const found = await diagnose({
        EXCHANGE_BASE_URL: `http://127.0.0.1:${port}`,
        NIGHTFERRY_EXCHANGE_HEADERS_TIMEOUT_MS: '200',
      })
      expect(of(found, 'service_key')).toMatchObject([{ level: 'error' }])
      expect(of(found, 'service_key')[0]?.what).toContain('could not be reached')
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })
  test('a secret in a file that others can open is warned of, and not shown', async () => {
    const path = join(folder.path, 'open.yaml')
    await writeFile(path, 'exchange: { apiKey: key-in-a-file-1234 }\n', { mode: 0o644 })
    const ended = await nightferry(folder.path, ['doctor', '--json', '--config', path])
    const found = JSON.parse(ended.stdout) as Diagnosis
    expect(of(found, 'secrets_in_file')).toMatchObject([{ level: 'warning', subject: path }])
    expect(ended.stdout).not.toContain('key-in-a-file')
  })
  test('a password that stands beside itself is warned of, and what to do is said with the name of the program', async () => {
    const found = await diagnose({ DATABASE_URL: 'postgres://nightferry:nightferry@127.0.0.1:1/nightferry' })
    const [warned] = of(found, 'passwords')
    expect(warned).toMatchObject({ level: 'warning', subject: 'database.url' })
    expect(warned?.what).toContain('database.url')
    expect(JSON.stringify(found)).toContain('nightferry contract check')
  })
})
