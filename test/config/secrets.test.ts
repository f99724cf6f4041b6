import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load-config.ts'
import { secretPaths, settings } from '../../src/config/schema.ts'
import { secretValues, showableConfig, withoutPassword } from '../../src/config/show-config.ts'

const configWith = (environment: Record<string, string>) => loadConfig({ file: null, environment })

test.each(['demo-key', 'urn:looks-like-a-url', 'https://looks.example/like?one'])('hides the whole key %s', (key) => {
  const config = configWith({ EXCHANGE_API_KEY: key })
  expect(showableConfig(config).exchange.apiKey).toBe('********')
  expect(secretValues(config)).toEqual([key])
})

test.each([
  ['postgres://ferry:hunter%2322@db.example:5433/own', 'postgres://ferry:********@db.example:5433/own'],
  ['postgres://db.example/own?password=hunter%2322', 'postgres://db.example/own?password=********'],
  ['postgres://ferry@db.example/own', 'postgres://ferry@db.example/own'],
  ['embedded:partner_demo', 'embedded:partner_demo'],
])('shows the database URL %s as %s', (url, shown) => {
  const config = configWith({ DATABASE_URL: url, PARTNER_DATABASE_URL: url })
  expect(showableConfig(config)).toMatchObject({ database: { url: shown }, partner: { url: shown } })
})

test.each(secretPaths)('hides %s wherever a configuration is shown, and knows it wherever one is scrubbed', (path) => {
  const secret = 'whsec_aHVudGVyMjJodW50ZXIyMmh1bnRlcjIyaHVudGVy'
  const isUrl = /url$/i.test(path)
  const value = !isUrl
    ? secret
    : path.startsWith('notify')
      ? `https://h.example/${secret}`
      : `postgres://u:${secret}@h/d`
  const nested = path
    .split('.')
    .reduceRight<unknown>((inner, key) => ({ [key]: inner }), path === 'webhooks.secrets' ? [value] : value)
  const config = settings.parse(nested)
  expect(JSON.stringify(config)).toContain(secret)
  expect(JSON.stringify(showableConfig(config))).not.toContain(secret)
  expect(secretValues(config).some((known) => known.includes(secret))).toBe(true)
})

test('shows nothing of an address that is no URL', () => {
  expect(withoutPassword('host=db.example password=hunter#22')).toBe('********')
})

test.each([
  ['postgres://ferry:hunter%2322@db.example/own', ['hunter%2322', 'hunter#22']],
  ['postgres://db.example/own?password=hunter%2322', ['hunter#22']],
  ['postgres://ferry:100%25@db.example/own', ['100%25', '100%']],
  ['embedded', []],
])('knows the password of %s in every form in which it can be written', (url, passwords) => {
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

test('leaves a key that is not set unset', () => {
  expect(showableConfig(configWith({})).exchange.apiKey).toBeNull()
})
