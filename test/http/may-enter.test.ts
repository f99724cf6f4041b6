import { describe, expect, it } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { bearerOf, isOurHost, isOurOrigin, refusalOf, servesThisMachineAlone } from '../../src/http/may-enter.ts'
import { problemOf } from '../../src/http/problem.ts'
import { checkHttpSettings } from '../../src/http/start-http.ts'

describe('the host of a request', () => {
  it.each(['localhost', 'localhost:8080', '127.0.0.1:1', '[::1]:443', 'LOCALHOST:80', '127.8.0.1', 'ferry.example:9'])(
    'may be %s where that is loopback or allowed',
    (host) => {
      expect(isOurHost(host, ['ferry.example'])).toBe(true)
    },
  )

  it.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'evil.example:127.0.0.1',
    '127.0.0.1.evil.example',
    'user@localhost',
    'localhost:80:80',
    'localhost:123456',
    'localhost/..',
    'ferry.example.',
    '0.0.0.0',
    '[::2]',
  ])('may not be %s', (host) => {
    expect(isOurHost(host, ['ferry.example'])).toBe(false)
  })
})

describe('the origin of a request', () => {
  it.each([undefined, 'http://localhost:3000', 'https://ferry.example'])('may be %s', (origin) => {
    expect(isOurOrigin(origin, ['ferry.example'])).toBe(true)
  })

  it.each(['null', '', 'https://evil.example', 'https://ferry.example.evil.example', 'file://', 'localhost'])(
    'may not be %s',
    (origin) => {
      expect(isOurOrigin(origin, ['ferry.example'])).toBe(false)
    },
  )
})

describe('a token', () => {
  const tokens = { token: 'a'.repeat(32), readToken: 'b'.repeat(32) }

  it.each([
    [undefined, null],
    [`Bearer ${tokens.token}`, 'act'],
    [`bearer ${tokens.token}`, 'act'],
    [`Bearer ${tokens.readToken}`, 'read'],
    [`Bearer ${tokens.token}b`, 'wrong'],
    [`Bearer ${tokens.token.slice(1)}`, 'wrong'],
    [`Basic ${tokens.token}`, 'wrong'],
    [tokens.token, 'wrong'],
    ['Bearer ', 'wrong'],
    ['', 'wrong'],
  ])('a token in the header %s counts as %s', (header, bearer) => {
    expect(bearerOf(header, tokens)).toBe(bearer)
  })

  it('each token of a setting that has several counts, alone and not with the others', () => {
    const several = { token: `${'n'.repeat(32)}\n${tokens.token}  ${'o'.repeat(32)}`, readToken: tokens.readToken }
    for (const letter of ['n', 'a', 'o']) expect(bearerOf(`Bearer ${letter.repeat(32)}`, several)).toBe('act')
    for (const wrong of [several.token.replaceAll(/\s+/g, ''), several.token, '\n', 'n'.repeat(31)]) {
      expect(bearerOf(`Bearer ${wrong}`, several)).toBe('wrong')
    }
  })

  it('a token that is not set is borne by nobody', () => {
    for (const header of ['Bearer null', 'Bearer ', 'Bearer undefined', 'Bearer']) {
      expect(bearerOf(header, { token: null, readToken: null })).toBe('wrong')
    }
  })
})

it.each([
  ['open', null, false, null],
  ['open', 'wrong', false, null],
  ['metrics', null, true, null],
  ['metrics', null, false, 401],
  ['metrics', 'read', false, null],
  ['read', null, true, 401],
  ['read', 'wrong', true, 401],
  ['read', 'read', true, null],
  ['read', 'act', true, null],
  ['act', null, true, 401],
  ['act', 'read', true, 403],
  ['act', 'act', true, null],
] as const)(
  'a route that is %s is refused to the bearer %s (this machine alone: %s) with %s',
  (access, bearer, alone, refusal) => {
    expect(refusalOf(access, bearer, alone)).toBe(refusal)
  },
)

it.each([
  ['127.0.0.1', [], true],
  ['::1', [], true],
  ['127.0.0.1', ['ferry.example'], false],
  ['0.0.0.0', ['ferry.example'], false],
])('the API on %s that is called %s serves this machine alone: %s', (host, allowedHosts, alone) => {
  expect(servesThisMachineAlone({ host, allowedHosts })).toBe(alone)
})

describe('settings of the API', () => {
  const http = (given: object) => ({ http: settings.parse({ http: { port: 8080, ...given } }).http })
  const token = 'x'.repeat(16)
  const beyond = { host: '0.0.0.0', token, allowedHosts: ['ferry.example'], certificateFile: 'a', keyFile: 'b' }

  it.each([
    ['loopback without a token', {}],
    ['beyond loopback with token, hosts and TLS', beyond],
    [
      'beyond loopback without TLS where that is asked for',
      { ...beyond, certificateFile: null, keyFile: null, plain: true },
    ],
  ])('settings of the API are safe: %s', (_, given) => {
    expect(() => checkHttpSettings(http(given))).not.toThrow()
  })

  it.each([
    ['http.token', { ...beyond, token: null }],
    ['http.certificateFile', { ...beyond, certificateFile: null, keyFile: null }],
    ['http.allowedHosts', { ...beyond, allowedHosts: [] }],
    ['http.keyFile', { keyFile: null, certificateFile: 'a' }],
    ['http.certificateFile', { keyFile: 'a' }],
    ['http.readToken', { token, readToken: token }],
    ['http.readToken', { token: `${'n'.repeat(16)} ${token}`, readToken: `${'r'.repeat(16)}\n${token}` }],
    ['http.token', { host: '::', plain: true, allowedHosts: ['a.example'] }],
  ])('settings of the API are refused by the name of %s', (name, given) => {
    expect(() => checkHttpSettings(http(given))).toThrow(name)
  })

  it.each(['short', 'has a space in it ....', 'ünïcödé-in-a-token', '', ' \n', `${'x'.repeat(16)} short`])(
    'take no token such as %j',
    (wrong) => {
      expect(settings.safeParse({ http: { token: wrong } }).success).toBe(false)
    },
  )
})

it('an error that nobody foresaw is told without its words', () => {
  const error = new Error('select secret from nightferry.table failed')
  expect(problemOf(error)).toMatchObject({ status: 500, code: 'internal_error' })
  expect(JSON.stringify(problemOf(error))).not.toContain('select secret')
})

it.each([
  ['53100', 'could not extend file: No space left on device', 'disk_full'],
  ['25006', 'cannot execute INSERT in a read-only transaction', 'database_read_only'],
  ['57P03', 'the database system is shutting down', 'database_unreachable'],
])('a database that refuses with %s is told of by what it is: %s', (code, message, told) => {
  const problem = problemOf(Object.assign(new Error(message), { code }))
  expect(problem).toMatchObject({ status: 503, code: told })
  expect(problem.detail.includes('/readyz')).toBe(told === 'database_unreachable')
})

it.each([
  ['partner_unreachable', 502],
  ['partner_query_failed', 502],
  ['partner_driver_missing', 409],
  ['partner_snapshot_off', 409],
  ['partner_too_old', 409],
  ['exchange_answer_malformed', 502],
])('an error that a verb would have shown is told by its code and words: %s', (code, status) => {
  const error = Object.assign(new Error('what to do about it'), { code })
  expect(problemOf(error)).toMatchObject({ status, code, detail: 'what to do about it' })
})
