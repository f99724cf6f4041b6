import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { canaries } from '../helpers/canaries.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { startWorld } from '../helpers/world.ts'
import { nightferry, nightferryProcess, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ hotels: 6 }))
const folder = await ofThisFile(workingFolder())

const service = () => ({ EXCHANGE_API_KEY: canaries.apiKey })
const init = (env: Record<string, string>, ...args: string[]) => nightferry(folder.path, ['init', ...args], env)
const read = (name: string) => readFile(join(folder.path, name), 'utf8')

/** The verbs that `init` names, each to its end: the file is used as a person would use it. */
async function report(file: string, env: Record<string, string>) {
  const quick = { NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: '100', ...env }
  const printed = await nightferry(folder.path, ['config', 'print', '--config', file], quick)
  expect(printed.stderr).toBe('')
  expect((await nightferry(folder.path, ['migrate', '--config', file], quick)).code).toBe(0)
  return await nightferry(folder.path, ['run', 'nightly-sync', '--json', '--config', file], quick)
}

type Report = Pick<RunReport, 'verdict' | 'comparisons'> & { streams: { stream: string; read: number; sent: number }[] }

describe('on a PostgreSQL with names of its own', () => {
  beforeAll(async () => {
    await world.partnerPool.query(`
      alter schema hotelier rename to pms;
      alter table pms.hotel rename to properties;
      alter table pms.properties rename column name to title;
      alter table pms.properties rename column street to address;
      alter table pms.properties rename column latitude to lat;
      alter table pms.properties rename column longitude to lng;
      alter table pms.properties rename column country_code to country;
      alter table pms.meter_reading rename to readings;
      alter table pms.readings rename column year to period_year;
      alter table pms.readings rename column value to amount;
      alter table pms.sustainability_answer rename column data_point_id to datapoint_id;
      alter table pms.certificate rename column start_date to valid_from;
      alter table pms.certificate rename column standard_id to scheme`)
  })
  test('init goes from two flags to reports of every stream that it recognised, and a night that notices a loss', async () => {
    const env = { ...service(), PARTNER_DATABASE_URL: world.partnerUrl, DATABASE_URL: world.databaseUrl }
    const written = await init(env, '--url', world.sandboxUrl, '--out', 'own.yaml')
    expect(written.code).toBe(0)
    expect(written.stderr).toContain('The service accepts the key.')
    expect(written.stderr).toContain('standard_holders: pms.certificate, but standard_id was not found')
    expect(written.stdout).toMatch(/run nightly-sync --config own\.yaml\n$/)
    const text = await read('own.yaml')
    expect(text).toContain(`customIdentifierId: ${catalogue.customIdentifierId}`)
    expect(text).toContain(`#   ${catalogue.groupId}  All hotels`)
    expect(text).not.toContain(canaries.apiKey)
    expect(text).not.toContain(new URL(world.partnerUrl).password)
    expect(text).toMatch(/^# {3}standard_holders:\n[\s\S]*TODO as standard_id/m)
    const run = await report('own.yaml', env)
    const { streams } = JSON.parse(run.stdout) as Report
    const sent = Object.fromEntries(streams.map(({ stream, sent: rows }) => [stream, rows]))
    expect(Object.keys(sent).sort()).toEqual([
      'calculator_inputs',
      'calculator_settings',
      'custom_property_values',
      'framework_answers',
      'omissions',
      'properties',
    ])
    expect(sent.properties).toBe(6)
    for (const rows of Object.values(sent)) expect(rows).toBeGreaterThan(0)
    const looked = await nightferry(folder.path, ['doctor', '--json', '--config', 'own.yaml'], env)
    expect(looked.stdout).not.toContain('"level": "error",\n      "what"')
    // The one that was not recognised: a person fills in what the TODO asks for, and takes the comment signs away.
    const [kept = '', commented = ''] = text.split('\n# '.concat('  standard_holders:'))
    const edited = `  standard_holders:${commented}`.replaceAll(/\n# ?/g, '\n').replace('TODO as', 't.scheme as')
    await writeFile(join(folder.path, 'edited.yaml'), `${kept}\n${edited}`)
    await world.sandboxPool.query(
      'delete from sandbox.answer where ctid = (select ctid from sandbox.answer order by 1 limit 1)',
    )
    const second = JSON.parse((await report('edited.yaml', env)).stdout) as Report
    expect(second.streams.find(({ stream }) => stream === 'standard_holders')?.read).toBeGreaterThan(0)
    // With nothing but what init wrote, the loss is noticed.
    expect(second.verdict).toBe('partial')
    expect(second.comparisons).toMatchObject([
      { kind: 'answers', absent: 1, withheld: null },
      { kind: 'mappings', absent: 0, withheld: null },
      { kind: 'property_values', absent: 0, withheld: null },
      { kind: 'standard_holders', withheld: 'pull.searches has no standardHoldersSearch' },
    ])
    // The search of the stream that was filled in stands in comments still.
    const status = await nightferry(folder.path, ['status', '--config', 'edited.yaml'], env)
    expect(status.stdout).toContain('Sent, and not compared with what the service shows: standards held.')
    const told = await nightferry(folder.path, ['doctor', '--config', 'edited.yaml'], env)
    expect(told.stdout).toContain('advice   comparison standard_holders: Not compared: standards held')
  })
})

test('init says which table it took and which others have its name, there and in the file', async () => {
  await world.partnerPool.query('create schema pms_copy; create table pms_copy.properties as table pms.properties')
  const env = { ...service(), PARTNER_DATABASE_URL: world.partnerUrl }
  const written = await init(env, '--url', world.sandboxUrl, '--out', 'copied.yaml')
  await world.partnerPool.query('drop schema pms_copy cascade')
  const words = 'pms.properties was taken; pms_copy.properties has the same name'
  expect(written.stderr).toContain(`  properties: pms.properties\n    ${words}\n`)
  expect(await read('copied.yaml')).toContain(`    # ${words}. Please check.\n`)
})

describe('on a SQLite file', () => {
  test('init goes from flags alone to a report', async () => {
    const path = join(folder.path, 'house.db')
    const { rows } = await world.partnerPool.query<Record<string, string | null>>(
      'select code, title, address, country, hotel_code from pms.properties',
    )
    const house = new DatabaseSync(path)
    house.exec(`create table Houses (HouseId integer primary key, ExternalId text, DisplayName text, Address text, Country text,
                  HotelCode text, ModifiedAt text);
                create table Preferences (HouseId integer, AutoPublishing text)`)
    const insert = house.prepare('insert into Houses values (?, ?, ?, ?, ?, ?, ?)')
    for (const [index, row] of rows.entries()) {
      insert.run(
        index,
        row.code ?? null,
        row.title ?? null,
        row.address ?? null,
        row.country ?? null,
        row.hotel_code ?? null,
        '2026-01-01 00:00:00',
      )
    }
    house.exec(`insert into Preferences select HouseId, 'true' from Houses`)
    house.close()
    const url = pathToFileURL(path).href
    const flags = [
      '--url',
      world.sandboxUrl,
      '--partner',
      url,
      '--identifier',
      'Partner id',
      '--group',
      catalogue.groupId,
    ]
    // Node.js keeps some options for itself, wherever they stand: only a process of its own shows that ours are none.
    const asProcess = ['init', ...flags, '--out', 'house.yaml', '--secrets-file', '.env']
    const written = await nightferryProcess(folder.path, asProcess, service())
    expect(written.code).toBe(0)
    expect(await read('house.yaml')).toContain(`url: ${url}`)
    expect(await read('house.yaml')).toContain('capture: snapshot')
    expect(await read('.env')).toContain(`EXCHANGE_API_KEY='${canaries.apiKey}'`)
    const mode = async () => (await stat(join(folder.path, '.env'))).mode & 0o777
    expect(await mode()).toBe(0o600)
    await chmod(join(folder.path, '.env'), 0o644)
    expect((await init(service(), ...flags, '--out', 'house.yaml', '--secrets-file', '.env', '--force')).code).toBe(0)
    expect(await mode()).toBe(0o600)
    // The ledger of the other test belongs to the same service and profile.
    const run = await report('house.yaml', { ...service(), DATABASE_URL: await otherDatabase() })
    const { streams } = JSON.parse(run.stdout) as Report
    expect(streams).toMatchObject([
      { stream: 'properties', read: 6, sent: 6 },
      { stream: 'calculator_settings', read: 6, sent: 6 },
    ])
  })
  const otherDatabase = async () =>
    (await (await import('../helpers/postgres.ts')).testDatabase({ template: 'empty' })).url
})

test('field types are offered by name where a calculators search shows them', async () => {
  const env = { ...service(), PARTNER_DATABASE_URL: world.partnerUrl }
  const before = await init(env, '--url', world.sandboxUrl, '--out', 'unasked.yaml')
  expect(before.code, before.stderr).toBe(0)
  expect(await read('unasked.yaml')).toContain('The service lists field types nowhere.')
  const written = await init(env, '--url', world.sandboxUrl, '--field-types', '--out', 'fields.yaml')
  expect(written.code, written.stderr).toBe(0)
  const [, shown] = /The calculators of the profile show (\d+) field types\./.exec(written.stderr) ?? []
  expect(Number(shown)).toBeGreaterThan(0)
  const text = await read('fields.yaml')
  const [some] = catalogue.fieldTypes.filter(({ id: fieldType }) => text.includes(fieldType))
  expect(text).toContain(`#   ${some?.id}  ${some?.name}\n`)
})

describe('what cannot be', () => {
  const partner = () => ({ PARTNER_DATABASE_URL: world.partnerUrl })
  test('init says without a terminal which flag gives a missing answer', async () => {
    const ended = await init({ ...service(), ...partner() })
    expect(ended.code).toBe(2)
    expect(ended.stderr).toBe('nightferry: usage: there is no terminal to ask on: give --url, or EXCHANGE_BASE_URL\n')
    const keyless = await init(partner(), '--url', world.sandboxUrl)
    expect(keyless.stderr).toContain('give EXCHANGE_API_KEY, or EXCHANGE_API_KEY_FILE')
  })
  test('a file that is there is left as it is, unless it is forced', async () => {
    await writeFile(join(folder.path, 'mine.yaml'), 'mine')
    const flags = ['--url', world.sandboxUrl, '--out', 'mine.yaml']
    const ended = await init({ ...service(), ...partner() }, ...flags)
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('mine.yaml exists already')
    expect(await read('mine.yaml')).toBe('mine')
    expect((await init({ ...service(), ...partner() }, ...flags, '--force')).code).toBe(0)
    expect(await read('mine.yaml')).toContain('exchange:')
  })
  test('a database of another make is told as such, and so is a file that cannot be written', async () => {
    const other = await init(service(), '--url', world.sandboxUrl, '--partner', 'oracle://db.example/hotels')
    expect(other.code).toBe(2)
    expect(other.stderr).toMatch(/config_invalid[\s\S]*--partner: is no URL of a database; it looks like postgres:/)
    const closed = await init({ ...service(), ...partner() }, '--url', world.sandboxUrl, '--out', 'nowhere/a.yaml')
    expect(closed.code).toBe(2)
    expect(closed.stderr).toMatch(/nightferry: usage: .*nowhere\/a\.yaml cannot be written: ENOENT/)
  })
  test('a password on the command line is refused, and not repeated', async () => {
    const ended = await init(service(), '--url', world.sandboxUrl, '--partner', 'postgres://me:on-the-line-9@h/d')
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('set PARTNER_DATABASE_URL instead')
    expect(ended.stderr).not.toContain('on-the-line-9')
  })
  test('a wrong key, an address that is none and an unknown group are told as such, and nothing is written', async () => {
    const wrong = await init(
      { EXCHANGE_API_KEY: 'nobodys-key-4321', ...partner() },
      '--url',
      world.sandboxUrl,
      '--out',
      'no.yaml',
    )
    expect(wrong.stderr).toContain('exchange_unauthorized')
    const odd = await init({ ...service(), ...partner() }, '--url', `${world.sandboxUrl}/api/v1`, '--out', 'no.yaml')
    expect(odd.stderr).toMatch(/config_invalid[\s\S]*--url: ends in the path of the API/)
    const group = await init(
      { ...service(), ...partner() },
      '--url',
      world.sandboxUrl,
      '--group',
      'Nowhere',
      '--out',
      'no.yaml',
    )
    expect(group.stderr).toContain("--group Nowhere is no group of the key's profile; there are:")
    await expect(read('no.yaml')).rejects.toThrow('ENOENT')
  })
})

test('the sandbox prints a configuration of its own world, with the names behind the ids, and starts nothing', async () => {
  const printed = await nightferry(folder.path, ['sandbox', '--print-config', '--port', '4999'])
  expect(printed.code).toBe(0)
  await writeFile(join(folder.path, 'sandbox.yaml'), printed.stdout)
  const shown = await nightferry(folder.path, ['config', 'print', '--json', '--config', 'sandbox.yaml'])
  expect(JSON.parse(shown.stdout)).toMatchObject({
    exchange: {
      baseUrl: 'http://127.0.0.1:4999',
      customIdentifierId: catalogue.customIdentifierId,
      groupId: catalogue.groupId,
    },
    streams: {},
  })
  for (const { id, name } of catalogue.fieldTypes) expect(printed.stdout).toContain(`#   ${id}  ${name}`)
  for (const { id, title } of catalogue.standards) expect(printed.stdout).toContain(`#   ${id}  ${title}`)
})
