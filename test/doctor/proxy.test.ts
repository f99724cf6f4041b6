import { expect, test } from 'vitest'
import { judgeProxy } from '../../src/doctor/configuration-checks.ts'

const baseUrl = 'https://exchange.example.com'

test.each([
  ['no variable names a proxy', null, {}, 'ok'],
  ['a proxy is set', 'http://user:hunter22@proxy.example:3128', { HTTPS_PROXY: 'http://other:1' }, 'ok'],
  ['HTTPS_PROXY alone names one', null, { HTTPS_PROXY: 'http://user:hunter22@proxy:1' }, 'warning'],
  ['https_proxy alone names one', null, { https_proxy: 'http://user:hunter22@proxy:1' }, 'warning'],
  ['NO_PROXY names another host', null, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'localhost,ample.com' }, 'warning'],
  ['NO_PROXY names the domain', null, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'localhost, .example.com' }, 'ok'],
  ['NO_PROXY names all', null, { HTTPS_PROXY: 'http://p:1', no_proxy: '*' }, 'ok'],
])('the doctor judges the way to the service where %s', (_, proxy, environment, level) => {
  const [found] = judgeProxy({ baseUrl, proxy }, environment)
  expect(found?.level).toBe(level)
  expect(JSON.stringify(found)).not.toContain('hunter22')
})

test('the doctor asks for no proxy to a service on this machine', () => {
  expect(judgeProxy({ baseUrl: 'http://127.0.0.1:4700', proxy: null }, { HTTPS_PROXY: 'http://p:1' })).toMatchObject([
    { level: 'ok' },
  ])
})
