// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this spelling is what the file is about.
import { describe, expect, it, test } from 'vitest'
import { ConfigError, type ConfigProblem, variableOf } from '../../src/config/environment.ts'
import { type ConfigSources, loadConfig } from '../../src/config/load-config.ts'
import { requireSettings } from '../../src/config/require-settings.ts'
import { secretPaths } from '../../src/config/schema.ts'
import { leafPaths } from '../../src/config/setting-paths.ts'
import { temporaryFile } from './temporary-file.ts'

function load(text: string | null, sources: Partial<ConfigSources> = {}) {
  return loadConfig({ file: text === null ? null : temporaryFile(text), environment: {}, ...sources })
}

function refusal(action: () => unknown): ConfigError {
  try {
    action()
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('the configuration was accepted')
}

function problems(text: string | null, sources: Partial<ConfigSources> = {}): readonly ConfigProblem[] {
  return refusal(() => load(text, sources)).problems
}

const pollVariable = 'NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS'
const group = 'b920ed57-b349-8063-8ca5-e516d6203f0f'

test('the configuration takes a setting from the flag, else the environment, else the file, else its default', () => {
  const file = 'exchange:\n  pollIntervalMs: 2000\n'
  const environment = { [pollVariable]: '3000' }
  const overrides = ['exchange.pollIntervalMs=4000']
  expect(load(file, { environment, overrides }).exchange.pollIntervalMs).toBe(4000)
  expect(load(file, { environment }).exchange.pollIntervalMs).toBe(3000)
  expect(load(file).exchange.pollIntervalMs).toBe(2000)
  expect(load(null).exchange.pollIntervalMs).toBe(15_000)
})

test('counts an empty variable as not set', () => {
  expect(load('exchange: { pollIntervalMs: 2000 }', { environment: { [pollVariable]: '' } }).exchange).toMatchObject({
    pollIntervalMs: 2000,
  })
})

test('the configuration gives every setting a variable of its own', () => {
  const variables = leafPaths().map(variableOf)
  expect(new Set(variables).size).toBe(variables.length)
  expect(variables).toContain('NIGHTFERRY_JOBS_NIGHTLY_SYNC_TIME_ZONE')
})

test('the configuration reads numbers, lists and null from text as what the setting is', () => {
  const { exchange, pull, jobs } = load('exchange: { groupId: 00000000-0000-0000-0000-000000000000 }', {
    overrides: ['exchange.groupId=null', 'pull.allowedHosts=files.example, cdn.example', 'pull.minSeenShare=0.25'],
    environment: { NIGHTFERRY_JOBS_NIGHTLY_SYNC_SCHEDULE: '30 2 * * *' },
  })
  expect(exchange.groupId).toBeNull()
  expect(pull).toMatchObject({ allowedHosts: ['files.example', 'cdn.example'], minSeenShare: 0.25 })
  expect(jobs['nightly-sync'].schedule).toBe('30 2 * * *')
})

test('the configuration replaces ${NAME} in the file, whatever the type of the setting', () => {
  const file = 'exchange:\n  baseUrl: https://${HOST}/\n  pollIntervalMs: ${POLL}\n  groupId: ${GROUP}\n'
  const { exchange } = load(file, { environment: { HOST: 'bulk.example', POLL: '700', GROUP: group } })
  expect(exchange).toMatchObject({ baseUrl: 'https://bulk.example/', pollIntervalMs: 700, groupId: group })
})

test('the configuration takes the fallback of ${NAME:-fallback} when the variable is missing or empty', () => {
  const file = 'exchange: { pollIntervalMs: "${POLL:-900}", baseUrl: "${BASE:-}" }'
  expect(load(file).exchange).toMatchObject({ pollIntervalMs: 900, baseUrl: null })
  expect(load(file, { environment: { POLL: '' } }).exchange.pollIntervalMs).toBe(900)
  expect(load(file, { environment: { POLL: '800' } }).exchange.pollIntervalMs).toBe(800)
})

test('names a variable that is missing, with the path of the setting that wants it', () => {
  const found = problems('pull:\n  allowedHosts: ["${FILES_HOST}"]\n')
  expect(found).toEqual([{ path: 'pull.allowedHosts.0', message: 'the environment variable FILES_HOST is not set' }])
})

test('the configuration leaves the dollar signs of SQL alone', () => {
  const query = "select $1::text, '$NAME', $$body$$, $tag$ {x} $tag$ as partner_id, updated_at from hotel"
  const file = `streams:\n  properties:\n    query: |-\n      ${query}\n    cursor: updated_at\n`
  expect(load(file, { environment: { NAME: 'replaced' } }).streams.properties?.query).toBe(query)
})

test('an id that a SQL Server gave in sequence is taken by each setting of an id', () => {
  const ids = ['6FD1B3E5-EC4A-EB11-A812-000D3A2B1C2D', '6fd1b3e5-ec4a-0b11-0812-000d3a2b1c2d']
  for (const id of ids) {
    const { exchange, pull } = load(
      `exchange: { customIdentifierId: ${id}, groupId: ${id} }
pull: { customPropertyIds: [${id}], calculatorTypeIds: [${id}] }`,
    )
    expect(exchange).toMatchObject({ customIdentifierId: id, groupId: id })
    expect(pull).toMatchObject({ customPropertyIds: [id], calculatorTypeIds: [id] })
  }
})

test('lists every problem at once, each with its path', () => {
  const file = [
    'exchange: { pollIntervalMs: soon, concurrency: 0, groupId: mine }',
    'log: { level: loud }',
    'streams: { properties: { query: "", requires: [hotels] } }',
  ].join('\n')
  const found = problems(file, { overrides: ['engine.heartbeatSeconds=5'] }).map(({ path }) => path)
  expect(found.sort()).toEqual([
    'engine.heartbeatSeconds',
    'exchange.concurrency',
    'exchange.groupId',
    'exchange.pollIntervalMs',
    'log.level',
    'streams.properties.cursor',
    'streams.properties.query',
    'streams.properties.requires.0',
  ])
})

test('lists what interpolation misses together with what the check refuses', () => {
  const found = problems('exchange: { baseUrl: "${NOWHERE}", concurrency: 0 }')
  expect(found.map(({ path }) => path)).toEqual(['exchange.baseUrl', 'exchange.concurrency'])
})

test('names an unknown setting, section and stream instead of ignoring it', () => {
  const stream = '{ query: select 1, cursor: updated_at }'
  const found = problems(`exchange: { pollInterval: 5 }\nexchnage: {}\nstreams: { hotels: ${stream} }`)
  const said = found.map(({ path, message }) => `${path}: ${message}`).join('\n')
  expect(said).toMatch(/^exchange: unknown setting pollInterval; was exchange.pollIntervalMs meant\?$/m)
  expect(said).toMatch(/^: unknown setting exchnage; was exchange meant\?$/m)
  expect(said).toMatch(/^streams.*hotels/m)
})

test('the configuration keeps naming a section that is none although the environment sets something in it', () => {
  const found = problems('exchange: soon', { environment: { EXCHANGE_API_KEY: 'key' } })
  expect(found).toMatchObject([{ path: 'exchange' }])
})

test('names file, line and column of broken YAML', () => {
  const file = temporaryFile('exchange:\n  baseUrl: "https://bulk.example\nlog: {}\n')
  const { problems: found, message } = refusal(() => loadConfig({ file, environment: {} }))
  expect(found[0]?.path).toMatch(new RegExp(`^${file}:[34]:\\d+$`))
  expect(message).toContain('no valid YAML')
})

test.each([
  ['an alias without an anchor', 'exchange: *nothing'],
  ['a setting given twice', 'log: {}\nlog: {}'],
  ['aliases that would unfold into gigabytes', bomb()],
])('the configuration refuses %s as broken YAML', (_, text) => {
  const file = temporaryFile(text)
  const { problems: found, message } = refusal(() => loadConfig({ file, environment: {} }))
  expect(message).toContain('no valid YAML')
  expect(found[0]?.path).toContain(file)
})

test.each([
  ['an alias', 'password: *planted'],
  ['a literal block', 'password: |planted'],
  ['a folded block', 'password: >planted'],
  ['the end of a list', 'password: ]planted'],
  ['the end of a mapping', 'password: }planted'],
  ['a tag', 'password: !planted!'],
  ['an escape', 'password: "\\Uplanted"'],
  ['a directive', 'password: x\n%YAML planted\n---\na: b'],
  ['a text that the next line goes on', 'username: me\n    planted'],
])('a secret that YAML takes for %s is not repeated, and its place is named', (_, line) => {
  const file = temporaryFile(`notify:\n  email:\n    ${line}\n`)
  const { problems: found, message } = refusal(() => loadConfig({ file, environment: {} }))
  expect(message).not.toMatch(/plante|lanted/)
  expect(found[0]?.path).toMatch(new RegExp(`^${file}:[345]:\\d+$`))
})

test.each([
  ['a comma', '{ apiKey: two,planted }'],
  ['a colon without a space', '{ apiKey:planted }'],
])('a part of a secret that %s makes the name of a setting is not repeated', (_, section) => {
  const { message } = refusal(() => load(`exchange: ${section}\n`))
  expect(message).toContain('exchange: unknown setting (a name without a value')
  expect(message).not.toContain('planted')
})

test('a secret that stands where the name of its file belongs is not repeated', () => {
  const [found] = problems(null, { environment: { EXCHANGE_API_KEY_FILE: 'planted' } })
  expect(found?.message).toBe('EXCHANGE_API_KEY_FILE: the file that it names cannot be read (ENOENT)')
})

function bomb(): string {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const below = level === 0 ? '[x, x, x, x, x, x, x, x, x]' : `[${`*a${level - 1}, `.repeat(9)}]`
    return `a${level}: &a${level} ${below}`
  })
  return levels.join('\n')
}

test('names the place of an alias that stands inside what it refers to', () => {
  const file = temporaryFile('pull: &pull\n  searches:\n    - &one\n      name: one\n      body: { again: *one }\n')
  const { problems: found, message } = refusal(() => loadConfig({ file, environment: {} }))
  expect(message).toContain('no valid YAML')
  expect(found).toEqual([
    { path: `${file}: pull.searches.0.body.again`, message: expect.stringContaining('itself a part of') },
  ])
})

test('the configuration takes an anchor that several aliases refer to', () => {
  const stream = '{ query: select 1, cursor: updated_at }'
  const { streams } = load(`streams:\n  properties: &one ${stream}\n  omissions: *one\n  framework_answers: *one\n`)
  expect(streams.properties?.requires).toEqual([])
  const alike = { ...streams.properties, requires: ['properties'] }
  expect(streams).toMatchObject({ omissions: alike, framework_answers: alike })
})

test.each(['- a list', 'only words', '42'])('the configuration refuses a file that holds no settings: %s', (text) => {
  expect(problems(text)).toMatchObject([{ message: 'must be a mapping of settings' }])
})

test('the configuration takes an empty file for the defaults', () => {
  expect(load('# nothing yet\n')).toEqual(load(null))
})

test('names a file that is not there', () => {
  const { message } = refusal(() => loadConfig({ file: '/nowhere/nightferry.yaml', environment: {} }))
  expect(message).toContain('/nowhere/nightferry.yaml')
})

test('the configuration knows the short names of the variables, which win over the long ones', () => {
  const environment = {
    EXCHANGE_BASE_URL: 'https://bulk.example',
    EXCHANGE_API_KEY: 'short',
    NIGHTFERRY_EXCHANGE_API_KEY: 'long',
    DATABASE_URL: 'postgres://127.0.0.1/own',
    PARTNER_DATABASE_URL: 'postgres://127.0.0.1/hotels',
  }
  expect(load(null, { environment })).toMatchObject({
    exchange: { baseUrl: 'https://bulk.example', apiKey: 'short' },
    database: { url: 'postgres://127.0.0.1/own' },
    partner: { url: 'postgres://127.0.0.1/hotels' },
  })
})

test('the configuration reads a secret from the file that *_FILE names, without the line end', () => {
  const environment = { EXCHANGE_API_KEY_FILE: temporaryFile('from-a-file\n', 'key') }
  expect(load('exchange: { apiKey: from-yaml }', { environment }).exchange.apiKey).toBe('from-a-file')
})

test.each(['EXCHANGE_BASE_URL', 'EXCHANGE_API_KEY', 'DATABASE_URL', 'PARTNER_DATABASE_URL'])(
  'the configuration refuses %s set together with its _FILE, for nobody can tell which is meant',
  (variable) => {
    const environment = { [variable]: 'hunter22', [`${variable}_FILE`]: temporaryFile('hunter23', 'secret') }
    const found = problems(null, { environment })
    expect(found).toMatchObject([{ message: `${variable} and ${variable}_FILE are both set; unset one of them` }])
    expect(JSON.stringify(found)).not.toMatch(/hunter2/)
  },
)

test('counts an empty variable beside its _FILE as not set, and the other way round', () => {
  const file = temporaryFile('from-a-file', 'key')
  const environment = { EXCHANGE_API_KEY: '', EXCHANGE_API_KEY_FILE: file, DATABASE_URL_FILE: '' }
  expect(load(null, { environment }).exchange.apiKey).toBe('from-a-file')
})

test('names the setting whose *_FILE cannot be read', () => {
  const found = problems(null, { environment: { PARTNER_DATABASE_URL_FILE: '/nowhere/url' } })
  expect(found).toMatchObject([{ path: 'partner.url' }])
  expect(found[0]?.message).toContain('PARTNER_DATABASE_URL_FILE')
})

test.each(secretPaths)('the configuration refuses %s on the command line, where other users see it', (path) => {
  const found = problems(null, { overrides: [`${path}=postgres://u:hunter22@h/d`] })
  expect(found).toMatchObject([{ path }])
  expect(JSON.stringify(found)).not.toContain('hunter22')
})

test('the configuration takes database.url=embedded from the command line, for it is no secret', () => {
  const environment = { DATABASE_URL: 'postgres://127.0.0.1/own' }
  expect(load(null, { environment, overrides: ['database.url=embedded'] }).database.url).toBe('embedded')
})

it('says that a setting of a stream is not taken from --set, and names no other in its place', () => {
  const found = problems(null, { overrides: ['streams.properties.capture=snapshot'] })
  expect(found).toEqual([
    {
      path: 'streams.properties.capture',
      message: 'cannot be set by --set, which takes no setting of a stream or of a list entry; set it in the file',
    },
  ])
})

test.each(['exchange.pollIntervall=5', 'exchange.pollIntervalMs', 'exchange={}', '=5', ''])(
  'names the flag --set "%s" that sets nothing known',
  (override) => {
    expect(problems(null, { overrides: [override] })).toMatchObject([{ message: expect.stringContaining('--set') }])
  },
)

describe('a setting that there is not', () => {
  const stream = 'query: select 1, cursor: updated_at'
  it.each<[string, string, Partial<ConfigSources>]>([
    ['exchange.pollIntervalMs', '{}', { overrides: ['exchange.pollIntervall=5'] }],
    ['exchange.pollIntervalMs', '{}', { overrides: ['pollIntervalMs=5'] }],
    ['pull.history', 'push: { history: true }', {}],
    ['exchange.poll_interval_ms', '{}', { overrides: ['exchange.poll_interval_ms=5'] }],
    ['guard.maxChangedShare', 'guard: { maxChangeShare: 1 }', {}],
    ['streams.properties.capture', `streams: { properties: { ${stream}, captrue: cursor } }`, {}],
    ['pull.searches.0.minSeenShare', 'pull: { searches: [{ name: a, search: companiesSearch, minSeen: 1 }] }', {}],
    ['NIGHTFERRY_LOG_LEVEL', '{}', { environment: { NIGHTFERRY_LOG_LEVLE: 'trace' } }],
  ])('a setting that there is not is told with the one that was probably meant: %s', (meant, text, sources) => {
    const known = meant === 'exchange.poll_interval_ms' ? 'exchange.pollIntervalMs' : meant
    expect(problems(text, sources)).toMatchObject([{ message: expect.stringContaining(`was ${known} meant?`) }])
  })

  it('a setting that there is not is told without a suggestion where none is near', () => {
    expect(problems('colour: blue')).toEqual([{ path: '', message: 'unknown setting colour' }])
  })

  it("leaves variables alone that are none of Nightferry's", () => {
    expect(load(null, { environment: { NIGHTFERRY_IMAGE: '4.2', NIGHTFERRY_VERSION: '1' } })).toEqual(load(null))
  })
})

test('lists every missing setting with the variable that would set it', () => {
  const { problems: found } = refusal(() => requireSettings(load(null)))
  expect(found.map(({ path }) => path)).toEqual([
    'exchange.baseUrl',
    'exchange.apiKey',
    'exchange.customIdentifierId',
    'partner.url',
    'streams',
  ])
  expect(found.find(({ path }) => path === 'partner.url')?.message).toContain('PARTNER_DATABASE_URL')
})

test('the configuration wants the group only when calculators are sent', () => {
  const stream = '{ query: select 1, cursor: updated_at }'
  const paths = (streams: string) =>
    refusal(() => requireSettings(load(`streams: { ${streams} }`))).problems.map(({ path }) => path)
  expect(paths(`properties: ${stream}`)).not.toContain('exchange.groupId')
  expect(paths(`properties: ${stream}, calculator_inputs: ${stream}`)).toContain('exchange.groupId')
})

test.each([
  ['https://bulk.example/api', 'https://bulk.example'],
  ['https://bulk.example:8443/api/', 'https://bulk.example:8443'],
  ['https://bulk.example/api/v1', 'https://bulk.example'],
  ['https://gateway.example/bulk/API/v2/', 'https://gateway.example/bulk'],
])('the configuration refuses the base address %s, and says to write %s', (baseUrl, instead) => {
  expect(problems(null, { environment: { EXCHANGE_BASE_URL: baseUrl } })).toEqual([
    {
      path: 'exchange.baseUrl',
      message: expect.stringMatching(new RegExp(`; write ${instead} \\(set by EXCHANGE_BASE_URL\\)$`)),
    },
  ])
})

test.each(['https://bulk.example?tenant=geheim', 'https://bulk.example/bulk/#geheim', 'https://bulk.example/?'])(
  'the configuration refuses the base address %s, whose query no call would carry',
  (baseUrl) => {
    const found = problems(null, { environment: { EXCHANGE_BASE_URL: baseUrl } })
    expect(found).toEqual([{ path: 'exchange.baseUrl', message: expect.stringMatching(/^has a \? or a #/) }])
    expect(JSON.stringify(found)).not.toContain('geheim')
  },
)

test.each(['https://bulk.example', 'https://api.example/', 'https://gateway.example/api/bulk'])(
  'the configuration takes the base address %s',
  (baseUrl) => {
    expect(load(null, { environment: { EXCHANGE_BASE_URL: baseUrl } }).exchange.baseUrl).toBe(baseUrl)
  },
)

test.each(['ftp://bulk.example', 'bulk.example', 'https://user:geheim@bulk.example'])(
  'the configuration refuses the base address %s and does not repeat it',
  (baseUrl) => {
    const found = problems(`exchange: { baseUrl: "${baseUrl}" }`)
    expect(found.map(({ path }) => path)).toEqual(['exchange.baseUrl'])
    expect(JSON.stringify(found)).not.toContain('geheim')
  },
)

test('the configuration wants a cursor unless a stream is captured by snapshots', () => {
  expect(problems('streams: { properties: { query: select 1 } }').map(({ path }) => path)).toEqual([
    'streams.properties.cursor',
  ])
  expect(load('streams: { properties: { query: select 1, capture: snapshot } }').streams.properties).toMatchObject({
    capture: 'snapshot',
  })
})

test.each([
  ['postgres://reader@db/hotels', true],
  ['file:///data/hotels.db', true],
  ['file:hotels.db', false],
  ['file://server/hotels.db', false],
  ['mysql://reader@db/hotels', true],
  ['mariadb://reader@db/hotels', true],
  ['sqlserver://reader@db/hotels', true],
  ['mssql://reader@db/hotels', true],
  ['oracle://reader@db/hotels', false],
])('the configuration takes %s for the address of a partner database: %s', (url, taken) => {
  const found = refusal(() => requireSettings(load(`partner: { url: "${url}" }`))).problems
  expect(found.every(({ path }) => path !== 'partner.url')).toBe(taken)
})

describe('a setting that an earlier version had', () => {
  const told = { path: 'push.resendUnmatchedAfterMs', message: expect.stringContaining('push.retries') }

  it.each<[string, string | null, Partial<ConfigSources>]>([
    ['the file', 'push:\n  resendUnmatchedAfterMs: 5\n', {}],
    ['the command line', null, { overrides: ['push.resendUnmatchedAfterMs=5'] }],
    ['the environment', null, { environment: { NIGHTFERRY_PUSH_RESEND_UNMATCHED_AFTER_MS: '5' } }],
  ])('a setting that an earlier version had is refused in %s, with what stands in its place', (_, text, sources) => {
    expect(problems(text, sources)).toEqual([told])
  })
})

describe('a list whose entries are no plain texts', () => {
  it('a list whose entries are no plain texts is given as JSON on the command line', () => {
    const retries = [{ code: 'x', afterMs: 1, times: null }]
    expect(load(null, { overrides: [`push.retries=${JSON.stringify(retries)}`] }).push.retries).toEqual(retries)
  })

  it('a list whose entries are no plain texts that is no JSON is refused by its path', () => {
    expect(problems(null, { overrides: ['push.retries=[{'] })).toMatchObject([{ path: 'push.retries' }])
  })
})
