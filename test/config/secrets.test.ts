import { expect, test } from 'vitest'
import { concealJson } from '../../src/cli/scrubbing.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { secretPaths, settings } from '../../src/config/schema.ts'
import { secretValues, showableConfig, withoutPassword } from '../../src/config/show-config.ts'

const configWith = (environment: Record<string, string>) => loadConfig({ file: null, environment })

test.each(['demo-key', 'urn:looks-like-a-url', 'https://looks.example/like?one'])(
  'the program hides the whole key %s',
  (key) => {
    const config = configWith({ EXCHANGE_API_KEY: key })
    expect(showableConfig(config).exchange.apiKey).toBe('********')
    expect(secretValues(config)).toEqual([key])
  },
)

test.each([
  ['postgres://ferry:hunter%2322@db.example:5433/own', 'postgres://ferry:********@db.example:5433/own'],
  ['postgres://db.example/own?password=hunter%2322', 'postgres://db.example/own?password=********'],
  ['postgres://ferry@db.example/own', 'postgres://ferry@db.example/own'],
  ['embedded:partner_demo', 'embedded:partner_demo'],
])('the program shows the database URL %s as %s', (url, shown) => {
  const config = configWith({ DATABASE_URL: url, PARTNER_DATABASE_URL: url })
  expect(showableConfig(config)).toMatchObject({ database: { url: shown }, partner: { url: shown } })
})

test.each(secretPaths)(
  'the program hides %s wherever a configuration is shown, and knows it wherever one is scrubbed',
  (path) => {
    const secret = 'whsec_aHVudGVyMjJodW50ZXIyMmh1bnRlcjIyaHVudGVy'
    const isUrl = /(url|proxy)$/i.test(path)
    const value = !isUrl
      ? secret
      : path.startsWith('notify')
        ? `https://h.example/${secret}`
        : `${path === 'exchange.proxy' ? 'http' : 'postgres'}://u:${secret}@h/${path === 'exchange.proxy' ? '' : 'd'}`
    const nested = path
      .split('.')
      .reduceRight<unknown>((inner, key) => ({ [key]: inner }), path === 'webhooks.secrets' ? [value] : value)
    const config = settings.parse(nested)
    expect(JSON.stringify(config)).toContain(secret)
    expect(JSON.stringify(showableConfig(config))).not.toContain(secret)
    expect(secretValues(config).some((known) => known.includes(secret))).toBe(true)
  },
)

test('the program shows nothing of an address that is no URL', () => {
  expect(withoutPassword('host=db.example password=hunter#22')).toBe('********')
  expect(withoutPassword('postgres://reader:4711?s3=cret@db.example/own')).toBe('********')
})

test.each([
  ['postgres://ferry:hunter%2322@db.example/own', ['hunter%2322', 'hunter#22']],
  ['postgres://db.example/own?password=hunter%2322', ['hunter#22']],
  ['postgres://ferry:100%25@db.example/own', ['100%25', '100%']],
  ['embedded', []],
])('the program knows the password of %s in every form in which it can be written', (url, passwords) => {
  expect([...new Set(secretValues(configWith({ DATABASE_URL: url })))]).toEqual(passwords)
})

test('changes nothing but the secrets, and not the configuration itself', () => {
  const config = configWith({ EXCHANGE_API_KEY: 'demo-key', DATABASE_URL: 'postgres://a:hunter22@h/d' })
  const before = structuredClone(config)
  const shown = showableConfig(config)
  expect(config).toEqual(before)
  expect({ ...shown, exchange: { ...shown.exchange, apiKey: 'demo-key' }, database: config.database }).toEqual(before)
  expect(JSON.stringify(shown)).not.toContain('hunter22')
})

const everySecret = {
  EXCHANGE_API_KEY: 'key-of-the-service',
  DATABASE_URL: 'postgres://a:own-password@h/d',
  PARTNER_DATABASE_URL: 'postgres://a@h/d?sslpassword=partner-password',
  NIGHTFERRY_NOTIFY_URL: 'https://hooks.example/services/T0000/path-of-receiver?channel=word-of-query',
  NIGHTFERRY_NOTIFY_HEARTBEAT_URL: 'https://beats.example/heartbeat-path',
  NIGHTFERRY_HTTP_TOKEN: 'token-that-may-everything',
  NIGHTFERRY_HTTP_READ_TOKEN: 'token-that-may-read',
  EXCHANGE_WEBHOOK_SECRET: 'whsec_AAAAAAAAAAAAAAAAAAAAAA==',
  EXCHANGE_WEBHOOK_HEADER_VALUE: 'value-of-the-header',
}

test('the program masks every secret that can be set, and knows every part of it that must not be written', () => {
  const config = configWith(everySecret)
  const shown = showableConfig(config)
  expect(shown.exchange.apiKey).toBe('********')
  expect(shown.database.url).toBe('postgres://a:********@h/d')
  expect(shown.partner.url).toBe('postgres://a@h/d?sslpassword=********')
  expect(shown.notify).toMatchObject({ url: '********', heartbeatUrl: '********' })
  expect(shown.http).toMatchObject({ token: '********', readToken: '********' })
  expect(shown.webhooks).toMatchObject({ secrets: ['********'], headerValue: '********' })
  expect(secretValues(config).toSorted()).toEqual(
    [
      'key-of-the-service',
      'own-password',
      'own-password',
      'partner-password',
      everySecret.NIGHTFERRY_NOTIFY_URL,
      'path-of-receiver',
      'word-of-query',
      everySecret.NIGHTFERRY_NOTIFY_HEARTBEAT_URL,
      'heartbeat-path',
      'token-that-may-everything',
      'token-that-may-read',
      everySecret.EXCHANGE_WEBHOOK_SECRET,
      'AAAAAAAAAAAAAAAAAAAAAA==',
      'value-of-the-header',
    ].toSorted(),
  )
})

test('the program masks nothing that is not set', () => {
  const { exchange, partner, notify, http, webhooks } = showableConfig(configWith({}))
  expect([exchange.apiKey, partner.url, notify.url, notify.heartbeatUrl, http.token, http.readToken]).toEqual(
    Array(6).fill(null),
  )
  expect(webhooks).toMatchObject({ secrets: [], headerValue: null })
  expect(secretValues(configWith({}))).toEqual([])
})

test('the address of a receiver counts as a secret only by parts that are too long to be a word', () => {
  const url = 'https://hooks.example/elevenchars/twelve-chars'
  expect(secretValues(configWith({ NIGHTFERRY_NOTIFY_URL: url }))).toEqual([url, 'twelve-chars'])
})

test.each([
  ['https://hc-ping.com/Ab3dE5fG7hI9jK1lM3nO5p/nightly-sync', ['Ab3dE5fG7hI9jK1lM3nO5p']],
  ['https://api.opsgenie.example/v2/heartbeats/Pull-Calculators/ping', []],
  ['https://kuma.example/api/push/q1w2e3r4t5y6?status=up&msg=framework_answers', ['q1w2e3r4t5y6']],
  ['https://beats.example/q1w2e3r4t5y6/search%3Aall_standards', ['q1w2e3r4t5y6']],
  ['https://beats.example/q1w2e3r4t5y6/all_standards', ['q1w2e3r4t5y6']],
  ['https://beats.example/q1w2e3r4t5y6/certificates_of_hotels', ['q1w2e3r4t5y6']],
])('the name of a job, a stream or a search in the address %s is no secret, and the rest of it is', (url, parts) => {
  const named = settings.parse({
    notify: { url, heartbeatUrl: url },
    pull: { searches: [{ name: 'all_standards', search: 'standardsSearch' }] },
    streams: { certificates_of_hotels: { query: 'select', cursor: 'x' } },
  })
  const secrets = secretValues(named)
  expect(secrets).toEqual([url, ...parts, url, ...parts])
  const said = '{"job":"nightly-sync","stream":"framework_answers","run":"search:all_standards"}'
  expect(concealJson(secrets)(said)).toBe(said)
})

test('a header of webhooks whose value is the name of this program or of a job hides no word of an advice', () => {
  const valued = (headerValue: string) => secretValues(settings.parse({ webhooks: { headerValue } }))
  expect([valued('nightferry'), valued('Nightly-Sync'), valued('nightferries')]).toEqual([[], [], ['nightferries']])
})

test('a secret of three characters would stand in any line, and of four counts', () => {
  expect(secretValues(configWith({ EXCHANGE_API_KEY: 'abc' }))).toEqual([])
  expect(secretValues(configWith({ EXCHANGE_API_KEY: 'abcd' }))).toEqual(['abcd'])
})

test.each([
  ['DATABASE_URL', 'postgres://nightferry:nightferry@h/d'],
  ['DATABASE_URL', 'postgres://u:own%2Dledger@h/own-ledger'],
  ['DATABASE_URL', 'postgres://u:Postgres@h/d'],
  ['PARTNER_DATABASE_URL', 'mysql://reader:Reader@h/pms'],
  ['PARTNER_DATABASE_URL', 'mysql://reader:mysql@h/pms'],
  ['PARTNER_DATABASE_URL', 'sqlserver://reader@h/hotels?password=hotels'],
])('a password in %s that stands beside it in %s is no secret', (variable, url) => {
  const config = configWith({ [variable]: url })
  expect(secretValues(config)).toEqual([])
  expect(JSON.stringify(showableConfig(config))).toContain('********')
})

test('the program leaves a key that is not set unset', () => {
  expect(showableConfig(configWith({})).exchange.apiKey).toBeNull()
})
