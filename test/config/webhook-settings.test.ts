import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load-config.ts'
import { secretValues, showableConfig } from '../../src/config/show-config.ts'
import { temporaryFile } from './temporary-file.ts'

const [one, two] = ['whsec_AAAAAAAAAAAAAAAAAAAAAA==', 'whsec_BBBBBBBBBBBBBBBBBBBBBB==']

describe('webhook secrets', () => {
  it('stand on lines of a file, or between commas of a variable', () => {
    const { webhooks } = loadConfig({
      file: null,
      environment: { EXCHANGE_WEBHOOK_SECRET_FILE: temporaryFile(`${one}\n${two}\n`, 'secrets') },
    })
    expect(webhooks.secrets).toEqual([one, two])
    const { webhooks: given } = loadConfig({ file: null, environment: { EXCHANGE_WEBHOOK_SECRET: `${one}, ${two}` } })
    expect(given.secrets).toEqual([one, two])
  })

  it('webhook secrets that are blank are none, and between others or in a file they are refused', () => {
    const load = (text: string) => () => loadConfig({ file: null, environment: { EXCHANGE_WEBHOOK_SECRET: text } })
    expect(load(`${one},`)).toThrow('webhooks.secrets')
    expect(load('')().webhooks.secrets).toEqual([])
    const environment = { EXCHANGE_WEBHOOK_SECRET_FILE: temporaryFile('\n', 'secrets') }
    expect(() => loadConfig({ file: null, environment })).toThrow('is empty')
  })

  it('webhook secrets are masked where the configuration is shown, and scrubbed with and without their prefix', () => {
    const environment = { EXCHANGE_WEBHOOK_SECRET: one, EXCHANGE_WEBHOOK_HEADER_VALUE: 'a word of ours' }
    const config = loadConfig({ file: null, environment })
    expect(JSON.stringify(showableConfig(config))).not.toMatch(/AAAA|a word of ours/)
    expect(secretValues(config)).toEqual(expect.arrayContaining([one, one.slice(6), 'a word of ours']))
  })

  it('webhook secrets and the value of the custom header are refused as flags', () => {
    for (const override of [`webhooks.secrets=${one}`, 'webhooks.headerValue=x']) {
      expect(() => loadConfig({ file: null, environment: {}, overrides: [override] })).toThrow('command line')
    }
  })

  it.each(['webhooks', '/web hooks', '/webhooks?x', 'https://x/y'])('a path %j is refused', (path) => {
    const overrides = [`webhooks.path=${path}`]
    expect(() => loadConfig({ file: null, environment: {}, overrides })).toThrow('webhooks.path')
  })
})
