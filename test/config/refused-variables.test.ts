import { expect, test } from 'vitest'
import { ConfigError } from '../../src/config/environment.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { temporaryFile } from './temporary-file.ts'

function refusal(environment: Record<string, string>, overrides: string[] = []): string[] {
  const file = temporaryFile('webhooks: { port: 4720 }\nexchange: { concurrency: 4 }\n')
  try {
    loadConfig({ file, environment, overrides })
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ path, message }) => `${path}: ${message}`)
    throw error
  }
  return []
}

test('a value that is refused is told with the variable that it came from, as one of a Service of Kubernetes', () => {
  const variables = Object.fromEntries(
    [
      ['SERVICE_HOST', '10.0.0.5'],
      ['SERVICE_PORT', '4720'],
      ['PORT', 'tcp://10.0.0.5:4720'],
      ['PORT_4720_TCP', 'tcp://10.0.0.5:4720'],
      ['PORT_4720_TCP_PROTO', 'tcp'],
      ['PORT_4720_TCP_PORT', '4720'],
      ['PORT_4720_TCP_ADDR', '10.0.0.5'],
    ].map(([name, value]) => [`NIGHTFERRY_WEBHOOKS_${name}`, value ?? '']),
  )
  const wrong = 'Invalid input: expected number, received string'
  expect(refusal(variables)).toEqual([`webhooks.port: ${wrong} (set by NIGHTFERRY_WEBHOOKS_PORT)`])
})

test('an entry of a list, a short name and a file that are refused are told with their variables', () => {
  expect(refusal({ NIGHTFERRY_NOTIFY_EMAIL_TO: 'nights@example.com,nobody' })).toEqual([
    expect.stringMatching(/^notify\.email\.to\.1: is no .* \(set by NIGHTFERRY_NOTIFY_EMAIL_TO\)$/),
  ])
  expect(refusal({ NIGHTFERRY_EXCHANGE_BASE_URL: 'https://a.example', EXCHANGE_BASE_URL: 'nowhere' })).toEqual([
    expect.stringMatching(/^exchange\.baseUrl: is no .* \(set by EXCHANGE_BASE_URL\)$/),
  ])
  const held = temporaryFile('nowhere\n', 'address')
  expect(refusal({ NIGHTFERRY_NOTIFY_URL_FILE: held })).toEqual([
    expect.stringMatching(/^notify\.url: is no .* \(set by NIGHTFERRY_NOTIFY_URL_FILE\)$/),
  ])
})

test('a value of a flag or of the file that is refused is told without the variable that it replaces', () => {
  const refused = refusal({ NIGHTFERRY_EXCHANGE_CONCURRENCY: '5' }, ['exchange.concurrency=0'])
  expect(refused).toEqual([expect.stringMatching(/^exchange\.concurrency: (?!.*set by)/)])
})
