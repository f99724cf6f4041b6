import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load-config.ts'
import { proxyProblem } from '../../src/config/proxy-address.ts'
import { secretValues, showableConfig } from '../../src/config/show-config.ts'
import { secretsIn } from '../../src/doctor/configuration-checks.ts'

test.each([
  'http://proxy.example:3128',
  'https://proxy.example',
  'http://10.0.0.7:8080/',
  'http://user@proxy.example:3128',
  'http://user:p%40ss%2Fword@[fd00::1]:3128',
])('the address %s of a proxy is taken', (address) => {
  expect(proxyProblem(address)).toBeNull()
})

test.each([
  'proxy.example:3128',
  'socks5://hunter2@proxy.example:1080',
  'http://user:hunter2/x@proxy.example:3128',
  'http://user:hunter2#x@proxy.example:3128',
  'http://user:hunter2%zz@proxy.example:3128',
  'http://proxy.example:3128/hunter2',
  'http://proxy.example:3128?hunter2',
  '',
])('the address %s of no proxy is refused in words that quote nothing of it', (address) => {
  const problem = proxyProblem(address)
  expect(problem).toMatch(/^(is|holds) /)
  expect(problem).not.toContain('hunter2')
  expect(() => loadConfig({ file: null, environment: { NIGHTFERRY_EXCHANGE_PROXY: address || '#' } })).toThrow(
    'exchange.proxy',
  )
})

test('the password of a proxy is hidden where the configuration is shown, in any form', () => {
  const config = loadConfig({
    file: null,
    environment: { NIGHTFERRY_EXCHANGE_PROXY: 'http://user:hunter%2F22@proxy.example:3128' },
  })
  expect(showableConfig(config).exchange.proxy).toBe('http://user:********@proxy.example:3128/')
  expect(secretValues(config)).toEqual(['hunter%2F22', 'hunter/22'])
})

test('the address of a proxy is a secret in a file only if it holds a password, and is taken from no command line', () => {
  expect(secretsIn('exchange: { proxy: "http://user:hunter22@proxy.example:3128" }')).toEqual(['exchange.proxy'])
  expect(secretsIn(`exchange: { proxy: "http://user:$\{PASSWORD}@proxy.example:3128" }`)).toEqual([])
  expect(secretsIn('exchange: { proxy: "http://proxy.example:3128" }')).toEqual([])
  const overrides = ['exchange.proxy=http://proxy.example:3128']
  expect(() => loadConfig({ file: null, environment: {}, overrides })).toThrow('secrets are not taken')
})
