import { describe, expect, it } from 'vitest'
import { defaultBackOff } from '../../src/exchange/back-off.ts'
import type { ExchangeClient } from '../../src/exchange/client.ts'
import { AnswerFormatError, HttpError, TransportError } from '../../src/exchange/errors.ts'
import { secretsIn } from '../helpers/canaries.ts'
import { httpServer, sendJson, tcpServer, unusedPort } from './fault-server.ts'
import { apiKey, rejection, testClient } from './test-client.ts'

const unitTypes = [{ id: 'energy', name: 'Energy', units: [{ id: 'kwh', name: 'Kilowatt hour', abbreviation: 'kWh' }] }]

describe('reading from the service', () => {
  it('sends the key itself in the Authorization header and returns what the service answered', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, unitTypes))
    await using client = testClient(server.url)
    expect(await client.getUnitTypes()).toEqual(unitTypes)
    expect(server.seen[0]).toMatchObject({
      method: 'GET',
      path: '/api/v1/unit-types',
      headers: { authorization: apiKey },
    })
  })

  it('keeps the path of the base address in front of every endpoint', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, []))
    await using client = testClient(`${server.url}/partner/`)
    await client.getGroups()
    expect(server.seen[0]?.path).toBe('/partner/api/v1/groups')
  })

  it('never lets an id climb out of its path segment', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, { id: 'x' }))
    await using client = testClient(server.url)
    await client.getFramework('../groups?x#y')
    expect(server.seen[0]?.path).toBe('/api/v1/frameworks/..%2Fgroups%3Fx%23y')
    await expect(client.getFramework('..')).rejects.toThrow(TypeError)
    expect(server.seen).toHaveLength(1)
  })

  it.each([500, 502, 503, 504])('tries again after %i and succeeds', async (status) => {
    await using server = await httpServer((_request, response, number) =>
      number < 3 ? sendJson(response, {}, status) : sendJson(response, unitTypes),
    )
    await using client = testClient(server.url)
    expect(await client.getUnitTypes()).toHaveLength(1)
    expect(client.waits).toEqual([375, 750])
  })

  it('gives up after four attempts and says what the service said', async () => {
    await using server = await httpServer((_request, response) =>
      sendJson(response, { errorCode: 'maintenance', message: 'back soon', later: true }, 503),
    )
    await using client = testClient(server.url)
    const error = await rejection(client.getUnitTypes())
    expect(error).toBeInstanceOf(HttpError)
    expect(error).toMatchObject({
      code: 'exchange_failed',
      status: 503,
      errorCode: 'maintenance',
      serviceMessage: 'back soon',
    })
    expect(server.seen).toHaveLength(4)
  })

  it.each([
    ['seconds', '2', 2100],
    ['a date', 'Sat, 21 Nov 2026 02:00:03 GMT', 3150],
    ['nonsense', 'after lunch', 375],
    ['an hour, which is capped', '3600', 63_000],
  ])('waits after 429 as Retry-After asks with %s', async (_title, header, waitMs) => {
    await using server = await httpServer((_request, response, number) => {
      if (number > 1) return sendJson(response, [])
      response.writeHead(429, { 'retry-after': header, date: 'Sat, 21 Nov 2026 02:00:00 GMT' }).end()
    })
    // Ours is an hour off: how long to wait is told by the service's own date.
    await using client = testClient(server.url, { nowMs: () => Date.parse('2026-11-21T03:00:00Z') })
    await client.getGroups()
    expect(client.waits).toEqual([waitMs])
  })

  it.each([
    [400, 'exchange_refused'],
    [401, 'exchange_unauthorized'],
    [403, 'exchange_forbidden'],
    [404, 'exchange_not_found'],
    [409, 'exchange_refused'],
  ])('does not try again after %i, whose code is %s', async (status, code) => {
    await using server = await httpServer((_request, response) => sendJson(response, { errorCode: 'new_code' }, status))
    await using client = testClient(server.url)
    const error = await rejection(client.getTask('c1'))
    expect(error).toMatchObject({ code, status, errorCode: 'new_code', method: 'GET', path: '/api/v2/bulk/tasks/c1' })
    expect(server.seen).toHaveLength(1)
  })

  it('decides by the status alone when an error has no body or one of HTML', async () => {
    await using server = await httpServer((_request, response, number) =>
      response.writeHead(403).end(number === 1 ? '' : '<html>forbidden</html>'),
    )
    await using client = testClient(server.url)
    expect(await rejection(client.getGroups())).toMatchObject({ code: 'exchange_forbidden', errorCode: null })
    expect(await rejection(client.getGroups())).toMatchObject({ code: 'exchange_forbidden', serviceMessage: null })
  })

  it('never follows a redirect', async () => {
    await using elsewhere = await httpServer((_request, response) => sendJson(response, []))
    await using server = await httpServer((_request, response) =>
      response.writeHead(302, { location: elsewhere.url }).end(),
    )
    await using client = testClient(server.url)
    expect(await rejection(client.getGroups())).toMatchObject({ code: 'exchange_refused', status: 302 })
    expect(elsewhere.seen).toEqual([])
  })

  it.each([
    ['HTML', '<html><body>Sign in</body></html>'],
    ['nothing', ''],
    ['half a document', '[{"id":"a"'],
    ['bytes that are no UTF-8', Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d])],
    ['a document that is no list', '{"id":"a"}'],
  ])('refuses a 200 with %s, once it has come back four times', async (_title, body) => {
    await using server = await httpServer((_request, response) => response.writeHead(200).end(body))
    await using client = testClient(server.url)
    const error = await rejection(client.getUnitTypes())
    expect(error).toBeInstanceOf(AnswerFormatError)
    expect(error).toMatchObject({ code: 'exchange_answer_malformed' })
    expect(error.message).toContain(`GET ${server.url}/api/v1/unit-types`)
    expect(server.seen).toHaveLength(4)
  })

  it.each([
    ['unit types', '<html>Back soon</html>', unitTypes, (client: ExchangeClient) => client.getUnitTypes()],
    ['a task', '{}', { correlationId: 'c1', status: 'Success' }, (client: ExchangeClient) => client.getTask('c1')],
    ['the task list', '', [], (client: ExchangeClient) => client.getTasks()],
  ])('gets %s after one 200 that is not the promised answer', async (_title, wrong, right, read) => {
    await using server = await httpServer((_request, response, number) =>
      number === 1 ? response.writeHead(200).end(wrong) : sendJson(response, right),
    )
    await using client = testClient(server.url)
    await read(client)
    expect(client.waits).toEqual([375])
  })

  it.each([408, 421, 425, 460, 499])('tries again after %i, which only a proxy answers to a read', async (status) => {
    await using server = await httpServer((_request, response, number) =>
      number === 1 ? response.writeHead(status).end() : sendJson(response, []),
    )
    await using client = testClient(server.url)
    expect(await client.getTasks()).toEqual([])
    expect(server.seen).toHaveLength(2)
  })

  it('stops reading an answer that is longer than its limit', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, ['x'.repeat(5000)]))
    await using client = testClient(server.url, { maxAnswerBytes: 1000 })
    expect(await rejection(client.getGroups())).toMatchObject({ code: 'exchange_answer_malformed' })
    expect(server.seen).toHaveLength(1)
  })

  it('refuses an answer that nests deeper than could be stored, brackets in texts not counted', async () => {
    const levels = 20_000
    const deep = `[${'['.repeat(levels)}${']'.repeat(levels)}]`
    const answers = [deep, deep, deep, deep, JSON.stringify([{ id: 'a', name: `\\"${'[{'.repeat(levels)}` }])]
    await using server = await httpServer((_request, response) => response.end(answers.shift()))
    await using client = testClient(server.url)
    expect((await rejection(client.getGroups())).message).toMatch(/nests deeper than 200 levels/)
    expect(await client.getGroups()).toHaveLength(1)
  })

  it('refuses the task of another correlation id', async () => {
    await using server = await httpServer((_request, response) =>
      sendJson(response, { correlationId: 'c2', status: 'Success' }),
    )
    await using client = testClient(server.url)
    expect(await rejection(client.getTask('c1'))).toMatchObject({ code: 'exchange_answer_malformed' })
    expect(await client.getTask('C2')).toMatchObject({ correlationId: 'c2', phase: 'terminal' })
  })

  it('tries again after a refused connection and says that nothing was sent', async () => {
    await using client = testClient(`http://127.0.0.1:${await unusedPort()}`)
    const error = await rejection(client.getGroups())
    expect(error).toBeInstanceOf(TransportError)
    expect(error).toMatchObject({ code: 'exchange_unreachable', requestMayHaveArrived: false })
    expect(error.message).toContain('ECONNREFUSED')
    expect(client.waits).toHaveLength(3)
  })

  it('reads again when an answer was cut short', async () => {
    let connections = 0
    await using server = await tcpServer((socket) => {
      connections += 1
      const whole = connections > 1
      socket.once('data', () =>
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n${whole ? '[]' : '['}`),
      )
    })
    await using client = testClient(server.url)
    expect(await client.getGroups()).toEqual([])
    expect(connections).toBe(2)
  })

  it.each([
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n'],
    ['with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n['],
  ])('reports an answer %s that never becomes whole as a broken transport', async (_title, answer) => {
    await using server = await tcpServer((socket) => socket.once('data', () => socket.end(answer)))
    await using client = testClient(server.url)
    expect(await rejection(client.getGroups())).toMatchObject({
      code: 'exchange_unreachable',
      requestMayHaveArrived: true,
    })
  })

  it('takes an answer that is closed early and cleanly for malformed, because only its parser notices', async () => {
    await using server = await tcpServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n[{"id":')),
    )
    await using client = testClient(server.url)
    expect(await rejection(client.getGroups())).toMatchObject({ code: 'exchange_answer_malformed' })
  })

  it('ends a stalled body by the body time-out', async () => {
    await using server = await tcpServer((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[')),
    )
    await using client = testClient(server.url, { backOff: { ...defaultBackOff, attempts: 1 } })
    const error = await rejection(client.getGroups())
    expect(error.cause).toMatchObject({ code: 'UND_ERR_BODY_TIMEOUT' })
  })

  it('ends an answer that drips by the time an answer may take', async () => {
    await using server = await tcpServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n')
        const drip = setInterval(() => socket.write(' '), 20)
        socket.on('close', () => clearInterval(drip))
      })
    })
    await using client = testClient(server.url, {
      answerTimeoutMs: 150,
      backOff: { ...defaultBackOff, attempts: 1 },
    })
    expect(await rejection(client.getGroups())).toMatchObject({
      code: 'exchange_unreachable',
      cause: { code: 'ANSWER_TIMEOUT' },
    })
  })

  it('ends a wait for a retry when the signal aborts, with the error that caused the wait', async () => {
    const stop = new AbortController()
    await using server = await httpServer((_request, response) => sendJson(response, {}, 500))
    await using client = testClient(server.url, {
      signal: stop.signal,
      wait: async (_ms, signal) => {
        stop.abort()
        signal.throwIfAborted()
      },
    })
    expect(await rejection(client.getGroups())).toMatchObject({ status: 500 })
    expect(server.seen).toHaveLength(1)
  })

  it('runs no more calls at once than its concurrency', async () => {
    let open = 0
    let most = 0
    await using server = await httpServer((_request, response) => {
      most = Math.max(most, ++open)
      setImmediate(() => {
        open -= 1
        sendJson(response, [])
      })
    })
    await using client = testClient(server.url, { concurrency: 2 })
    await Promise.all(Array.from({ length: 12 }, () => client.getGroups()))
    expect(most).toBe(2)
  })

  it('begins no more calls in a second than its rate', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, []))
    await using client = testClient(server.url, { requestsPerSecond: 5 })
    const start = performance.now()
    await Promise.all(Array.from({ length: 6 }, () => client.getGroups()))
    expect(performance.now() - start).toBeGreaterThan(900)
  })

  it('takes no call after it was closed', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, []))
    const client = testClient(server.url)
    await client.close()
    expect(await rejection(client.getGroups())).toMatchObject({
      code: 'exchange_unreachable',
      requestMayHaveArrived: false,
    })
    expect(server.seen).toEqual([])
  })

  it('never shows the key in a message, not even one that the service echoes', async () => {
    await using server = await httpServer((_request, response, number) =>
      number === 1
        ? sendJson(response, { errorCode: apiKey, message: `unknown key ${apiKey}` }, 401)
        : response.writeHead(200, { 'content-type': `text/${apiKey}` }).end('?'),
    )
    await using client = testClient(server.url)
    const refused = await rejection(client.getGroups())
    const malformed = await rejection(client.getGroups())
    expect(`${refused.message} ${JSON.stringify(refused)} ${malformed.message}`).not.toContain(apiKey)
    expect(refused.message).toContain('unknown key [API key]')
  })

  it('keeps nothing of the key that a task repeats in its errors', async () => {
    const error = {
      generalErrorMessages: [`no ${apiKey}`],
      rowErrors: [{ reason: JSON.stringify({ apiKey }), [apiKey]: 1 }],
    }
    await using server = await httpServer((_request, response) =>
      sendJson(response, { correlationId: 'a', status: 'Error', error }),
    )
    await using client = testClient(server.url)
    const task = await client.getTask('a')
    expect(task).toMatchObject({ generalErrors: ['no [API key]'], rowErrors: [expect.anything()] })
    expect(secretsIn(JSON.stringify(task))).toEqual([])
  })

  it.each([
    ['cuts off', (key: string) => `${'x'.repeat(1990)}${key}`],
    ['encodes for an address', (key: string) => `no ${encodeURIComponent(key)}`],
    ['encodes in base64', (key: string) => `no ${Buffer.from(key).toString('base64')}`],
    ['quotes as JSON', (key: string) => `no ${JSON.stringify({ key })}`],
  ])('never shows the key in a message that the service echoes and that it %s', async (_, echo) => {
    await using server = await httpServer((_request, response) =>
      sendJson(response, { errorCode: 'unknown', message: echo(apiKey) }, 401),
    )
    await using client = testClient(server.url)
    const refused = await rejection(client.getGroups())
    expect(secretsIn(`${refused.message} ${JSON.stringify(refused)}`)).toEqual([])
  })
})
