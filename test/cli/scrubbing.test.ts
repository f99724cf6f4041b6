import { PassThrough } from 'node:stream'
import { type Logger, pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createLogger } from '../../src/cli/log.ts'
import { conceal, concealJson, scrubbing } from '../../src/cli/scrubbing.ts'
import { holdsSecret } from '../helpers/find-secret.ts'

/** With everything that an encoding may change. */
const secret = 'canary "k\\ey/+%@ü?4711'
const user = 'ferry'

const wrapped = (cause: unknown) => new Error('the call failed', { cause })
const withHeaders = Object.assign(new Error('401'), { request: { headers: { 'x-api-key': secret } } })

/** Ways in which a secret gets into a log line by mistake. */
const shapes: [string, (logger: Logger) => void][] = [
  ['the message', (logger) => logger.info(`asked with ${secret}`)],
  ['a field', (logger) => logger.debug({ apiKey: secret }, 'asked')],
  ['a field far down, in a list', (logger) => logger.trace({ a: { b: [{ c: { password: secret } }] } }, 'asked')],
  ['the name of a field', (logger) => logger.info({ seen: { [secret]: true } }, 'asked')],
  ['the message of an error', (logger) => logger.error({ err: new Error(`no ${secret}`) }, 'failed')],
  [
    'the cause of the cause of an error',
    (logger) => logger.error({ err: wrapped(wrapped(new Error(secret))) }, 'failed'),
  ],
  ['the headers that an error carries', (logger) => logger.error({ err: withHeaders }, 'failed')],
  [
    'one of several errors',
    (logger) => logger.error({ err: new AggregateError([new Error(secret)], 'all') }, 'failed'),
  ],
  ['a list of raw headers', (logger) => logger.trace({ headers: ['x-api-key', secret] }, 'sent')],
  [
    'a Basic authorization',
    (logger) => logger.trace({ authorization: `Basic ${btoaUtf8(`${user}:${secret}`)}` }, 'sent'),
  ],
  [
    'the address of a database',
    (logger) => logger.info({ url: `postgres://${user}:${encodeURIComponent(secret)}@h/d` }, 'opened'),
  ],
  [
    'a parameter of an address',
    (logger) =>
      logger.info({ url: new URL(`https://h/d?${new URLSearchParams({ password: secret }).toString()}`) }, 'asked'),
  ],
  ['a body of JSON as text', (logger) => logger.trace({ body: JSON.stringify({ key: secret }) }, 'answered')],
  ['what a logger says with every line', (logger) => logger.child({ key: secret }).info('asked')],
]

function btoaUtf8(text: string): string {
  return Buffer.from(text).toString('base64')
}

function written(shape: (logger: Logger) => void, create: (to: PassThrough) => Logger): string {
  const to = new PassThrough()
  shape(create(to))
  return String(to.read() ?? '')
}

describe('a secret', () => {
  test.each(shapes)('does not get into the log by %s, and would without the scrubber', (_, shape) => {
    expect(
      holdsSecret(
        written(shape, (to) => pino({ level: 'trace' }, to)),
        secret,
      ),
      'it would',
    ).toBe(true)
    const line = written(shape, (to) => createLogger(to, 'trace', [secret]))
    expect(line).toContain('********')
    expect(holdsSecret(line, secret)).toBe(false)
  })

  test.each(shapes)('does not get onto a terminal by %s', (_, shape) => {
    const line = written(shape, (to) => createLogger(Object.assign(to, { isTTY: true }), 'trace', [secret]))
    expect(line).toContain('********')
    expect(holdsSecret(line, secret)).toBe(false)
  })

  test.each([0, 1, 2, 3, 4, 5, 6])('a secret is found in base64 behind %i other bytes', (before) => {
    const encoded = btoaUtf8(`${'x'.repeat(before)}${secret}yz`)
    for (const text of [encoded, encoded.replaceAll('+', '-').replaceAll('/', '_')]) {
      const to = new PassThrough()
      scrubbing(to, [secret]).write(`${text}\n`)
      expect(holdsSecret(String(to.read()), secret)).toBe(false)
    }
  })

  test.each([
    'https://files.example/p/1?expires=1&signature=c4n4ry-_x',
    'https://bucket.example/p?X-Amz-Credential=c4n4ry&X-Amz-Signature=c4n4ry&X-Amz-Security-Token=c4n4ry',
    'https://store.example/p?se=2026&sig=c4n4ry%2Fx%3D',
  ])('a secret that signs the address of a file is not written, no matter who gave it: %s', (url) => {
    for (const shape of [
      (logger: Logger) => logger.debug({ url }, 'x'),
      (logger: Logger) => logger.error({ err: new Error(`${url}: 404`) }, 'x'),
    ]) {
      const line = written(shape, (to) => createLogger(to, 'trace', []))
      expect(line).not.toContain('c4n4ry')
      expect(line).toContain(new URL(url).host)
    }
  })
})

test('a secret that became known after the scrubber was made is replaced from the next line on', () => {
  const to = new PassThrough()
  const secrets = ['first-secret']
  const scrubber = scrubbing(to, secrets)
  scrubber.write('first-secret second-secret\n')
  secrets.push('second-secret')
  scrubber.write('first-secret second-secret\n')
  scrubber.write('second-secret\n')
  expect(String(to.read())).toBe('******** second-secret\n******** ********\n********\n')
})

test('the scrubber leaves nothing of the longer secret if one secret contains the other', () => {
  expect(conceal(['short', 'a short one'])('a short one, short')).toBe('********, ********')
  expect(conceal(['a short one', 'short'])('a short one, short')).toBe('********, ********')
})

test('the signature of an address is replaced to its end, and the address is left', () => {
  const url = 'https://files.example/p?expires=1&signature=c4n4ry&Sig=abc&x=1 said'
  expect(conceal([])(url)).toBe('https://files.example/p?expires=1&signature=********&Sig=********&x=1 said')
})

test('a line without a secret is written as it is', () => {
  const to = new PassThrough()
  scrubbing(to, [secret]).write('{"msg":"run_started","signature":"none","at":"a?b=c&d=e"}\n')
  expect(String(to.read())).toBe('{"msg":"run_started","signature":"none","at":"a?b=c&d=e"}\n')
})

describe('a secret that may be a word', () => {
  test('a secret that may be a word is replaced where it stands by itself, and is left within a word or a number', () => {
    const clean = conceal(['hotel', '1234', '+ä!'])
    expect(clean('hotels, my_hotel, Hotel5, 12345, hotel1234')).toBe('hotels, my_hotel, Hotel5, 12345, hotel1234')
    expect(clean('mysql://reader:hotel@db, password=1234, x+ä!y')).toBe(
      'mysql://reader:********@db, password=********, x********y',
    )
    const written = JSON.stringify(JSON.stringify('failed:\nhotel\u0001hotel'))
    expect(clean(`${encodeURIComponent('reader:hotel@db')} ${written}`)).not.toContain('hotel')
  })

  test('a secret that may be a word is found in base64 as a longer one is', () => {
    expect(conceal(['hotel'])(`Basic ${btoaUtf8('reader:hotel')}`)).toContain('********')
  })

  test('a secret that may be a word leaves the names and the numbers of JSON as they are', () => {
    const clean = concealJson(['hotels', '1234', 'a-long-secret'])
    const said = { hotels: 1234, sum: [1234, 12345], why: 'hotels 1234', quoted: '{"hotels":1234}', 'a-long-secret': 1 }
    expect(JSON.parse(clean(JSON.stringify(said)))).toEqual({
      hotels: 1234,
      sum: [1234, 12345],
      why: '******** ********',
      quoted: '{"********":********}',
      '********': 1,
    })
    expect(clean('{"n":1.10,"big":12345678901234567890,"of":"hotels"}')).toBe(
      '{"n":1.10,"big":12345678901234567890,"of":"********"}',
    )
    expect(clean('rows{of="hotels"} 1234\n')).toBe('rows{of="********"} 1234\n')
  })

  test('a secret that may be a word leaves a log line JSON', () => {
    const line = written(
      (logger) => logger.info({ hotels: 1234, error: 'hotels 1234' }, 'read'),
      (to) => createLogger(to, 'trace', ['hotels', '1234']),
    )
    expect(JSON.parse(line)).toMatchObject({ hotels: 1234, error: '******** ********', msg: 'read' })
  })
})
