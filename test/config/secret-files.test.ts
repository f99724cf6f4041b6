import { expect, test } from 'vitest'
import { ConfigError, variableOf } from '../../src/config/environment.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { secretPaths } from '../../src/config/schema.ts'
import { settingsInForce } from '../../src/config/show-config.ts'
import { temporaryFile } from './temporary-file.ts'

/** A value that the setting takes. */
function secretFor(path: string): string {
  if (path === 'webhooks.secrets') return 'whsec_aHVudGVyMjJodW50ZXIyMmh1bnRlcjIyaHVudGVy'
  if (path === 'exchange.proxy') return 'http://u:hunter22@h:3128'
  if (!/url$/i.test(path)) return 'hunter22-and-some-more'
  return path.startsWith('notify') ? 'https://h.example/hunter22' : 'postgres://u:hunter22@h/d'
}

function valueAt(of: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], of)
}

function problems(environment: Record<string, string>): ConfigError['problems'] {
  try {
    loadConfig({ file: null, environment })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

test.each(secretPaths)('the secret %s comes from the file that its variable with _FILE names', (path) => {
  const variable = `${variableOf(path)}_FILE`
  const environment = { [variable]: temporaryFile(`${secretFor(path)}\n`, 'secret') }
  const config = loadConfig({ file: null, environment })
  expect([valueAt(config, path)].flat()).toEqual([secretFor(path)])
  expect(settingsInForce(config, { file: null, environment }).find((one) => one.path === path)).toMatchObject({
    from: 'environment',
    where: variable,
  })
})

test.each(secretPaths)('the secret %s is refused if both its variable and the one with _FILE are set', (path) => {
  const variable = variableOf(path)
  const found = problems({
    [variable]: secretFor(path),
    [`${variable}_FILE`]: temporaryFile(secretFor(path), 'secret'),
  })
  expect(found).toEqual([{ path, message: `${variable} and ${variable}_FILE are both set; unset one of them` }])
})

test.each(secretPaths)('the secret %s is refused if its file is empty or not there', (path) => {
  const variable = `${variableOf(path)}_FILE`
  const empty = temporaryFile('\n', 'secret')
  expect(problems({ [variable]: empty })).toEqual([{ path, message: `${variable}: ${empty} is empty` }])
  expect(problems({ [variable]: '/nowhere/secret' })).toMatchObject([
    { path, message: expect.stringContaining(variable) },
  ])
})

test('a mistyped variable of a secret with _FILE is named together with the one that was meant', () => {
  expect(problems({ NIGHTFERRY_HTTP_TOKN_FILE: '/run/token' })).toEqual([
    { path: 'NIGHTFERRY_HTTP_TOKN_FILE', message: 'sets nothing; was NIGHTFERRY_HTTP_TOKEN_FILE meant?' },
  ])
})

test('of two variables of one setting the origin shown is the one whose value is in force', () => {
  const environment = { EXCHANGE_API_KEY: 'short', NIGHTFERRY_EXCHANGE_API_KEY: 'long' }
  const config = loadConfig({ file: null, environment })
  expect(config.exchange.apiKey).toBe('short')
  expect(
    settingsInForce(config, { file: null, environment }).find(({ path }) => path === 'exchange.apiKey'),
  ).toMatchObject({ where: 'EXCHANGE_API_KEY' })
})
