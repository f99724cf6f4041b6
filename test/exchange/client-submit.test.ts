import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { HttpError, TransportError, UncertainSubmission } from '../../src/exchange/errors.ts'
import { authority, elsewhere, expired, type Identity, selfSigned, valid } from './certificates.ts'
import { httpServer, sendJson, tcpServer, unusedPort } from './fault-server.ts'
import { apiKey, rejection, testClient } from './test-client.ts'

const accepted = { correlationId: '0b6c2f4e-0000-4000-8000-000000000001' }

describe('submitting', () => {
  it('returns the correlation id and sends the body byte for byte', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, { ...accepted, queued: true }))
    await using client = testClient(server.url)
    const body = JSON.stringify({ name: 'Hôtel „Zur Brücke“ ホテル 🏨' })
    expect(await client.submit('companyMappings', body)).toEqual(accepted)
    expect(await client.submit('calculatorsUpsert', Buffer.from(body))).toEqual(accepted)
    expect(server.seen.map((request) => [request.method, request.path, request.body])).toEqual([
      ['POST', '/api/v1/bulk/company-mappings', body],
      ['POST', '/api/v1/bulk/calculators/upsert', body],
    ])
    expect(server.seen[0]?.headers).toMatchObject({ authorization: apiKey, 'content-type': 'application/json' })
  })

  it('streams a body that is made on the way', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, accepted, 202))
    await using client = testClient(server.url)
    async function* parts() {
      yield Buffer.from('{"companies":[')
      yield new Uint8Array(Buffer.from(']}'))
    }
    expect(await client.submit('companyMappings', parts())).toEqual(accepted)
    expect(server.seen[0]?.body).toBe('{"companies":[]}')
  })

  it("submitting is uncertain, and ends, when the caller's signal aborts while it is under way", async () => {
    const arrived = Promise.withResolvers<ServerResponse>()
    await using server = await httpServer((_request, response) => arrived.resolve(response))
    await using client = testClient(server.url, { headersTimeoutMs: 120_000 })
    const lost = new AbortController()
    const outcome = rejection(client.submit('companyMappings', '{}', lost.signal))
    const response = await arrived.promise
    const closed = new Promise((resolve) => response.once('close', resolve))
    lost.abort(new Error('the lock was lost'))
    expect(await outcome).toBeInstanceOf(UncertainSubmission)
    await closed
  })

  it("sends nothing when the caller's signal aborts before its turn", async () => {
    await using server = await httpServer((_request, response) => sendJson(response, accepted))
    await using client = testClient(server.url)
    const error = await rejection(client.submit('companyMappings', '{}', AbortSignal.abort(new Error('gone'))))
    expect(error).toMatchObject({ code: 'exchange_unreachable', requestMayHaveArrived: false })
    expect(server.seen).toHaveLength(0)
  })

  it('sends every submission on a connection of its own', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, accepted))
    await using client = testClient(server.url)
    await client.submit('companyMappings', '{}')
    await client.submit('companyMappings', '{}')
    expect(server.seen.map((request) => request.headers.connection)).toEqual(['close', 'close'])
  })

  it.each([
    [400, 'exchange_refused'],
    [401, 'exchange_unauthorized'],
    [403, 'exchange_forbidden'],
    [404, 'exchange_not_found'],
    [413, 'exchange_refused'],
    [421, 'exchange_failed'],
    [422, 'exchange_refused'],
    [425, 'exchange_failed'],
    [429, 'exchange_throttled'],
    [307, 'exchange_refused'],
    [308, 'exchange_refused'],
  ])('holds %i for not accepted, with code %s, and sends once', async (status, code) => {
    await using server = await httpServer((_request, response) => {
      response.writeHead(status, { 'retry-after': '3', location: 'http://192.0.2.1/' }).end('{"errorCode":"e"}')
    })
    await using client = testClient(server.url)
    const error = await rejection(client.submit('calculatorsUpsert', '{}'))
    expect(error).toBeInstanceOf(HttpError)
    expect(error).toMatchObject({ code, status, errorCode: 'e', retryAfterMs: 3000 })
    expect(server.seen).toHaveLength(1)
  })

  const ambiguous = [300, 301, 302, 303, 304, 408, 420, 444, 460, 499, 500, 502, 503, 504, 520, 522, 524, 527, 598]
  it.each(ambiguous)('submitting is uncertain after %i and sends once', async (status) => {
    await using server = await httpServer((_request, response) => response.writeHead(status).end())
    await using client = testClient(server.url)
    const error = await rejection(client.submit('calculatorsUpsert', '{}'))
    expect(error).toBeInstanceOf(UncertainSubmission)
    expect(error).toMatchObject({ code: 'submission_uncertain', cause: { status } })
    expect(server.seen).toHaveLength(1)
  })

  it('submitting is uncertain after 408 and 499 even with a word of the service, and refused by a 4xx of its own invention', async () => {
    const statuses = [408, 499, 460, 418]
    await using server = await httpServer((_request, response, number) =>
      sendJson(response, { errorCode: 'word' }, statuses[number - 1]),
    )
    await using client = testClient(server.url)
    const outcomes = []
    for (const _ of statuses) outcomes.push((await rejection(client.submit('calculatorsUpsert', '{}'))).name)
    expect(outcomes).toEqual(['UncertainSubmission', 'UncertainSubmission', 'UncertainSubmission', 'HttpError'])
  })

  it.each([
    ['HTML', '<html></html>'],
    ['no correlation id', '{"id":"x"}'],
    ['a blank correlation id', '{"correlationId":" "}'],
    ['nothing', ''],
  ])('submitting is uncertain after a 200 with %s', async (_title, body) => {
    await using server = await httpServer((_request, response) => response.end(body))
    await using client = testClient(server.url)
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({
      code: 'submission_uncertain',
      cause: { code: 'exchange_answer_malformed' },
    })
  })

  it('submitting is safe to repeat after a refused connection', async () => {
    await using client = testClient(`http://127.0.0.1:${await unusedPort()}`)
    const error = await rejection(client.submit('calculatorsUpsert', '{}'))
    expect(error).toBeInstanceOf(TransportError)
    expect(error).toMatchObject({ requestMayHaveArrived: false })
    expect(client.waits).toEqual([])
  })

  it('submitting is safe to repeat when the host is unknown', async () => {
    await using client = testClient('http://no-such-host.invalid')
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({
      code: 'exchange_unreachable',
      requestMayHaveArrived: false,
    })
  })

  it('submitting is safe to repeat when the connection is not established in time', async () => {
    // A TCP server that never answers the TLS handshake: the connection attempt hangs.
    await using server = await tcpServer(() => {})
    await using client = testClient(server.url.replace('http:', 'https:'), { connectTimeoutMs: 200 })
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({
      requestMayHaveArrived: false,
      cause: { code: 'UND_ERR_CONNECT_TIMEOUT' },
    })
  })

  it('submitting is safe to repeat when the connection is reset during the TLS handshake', async () => {
    await using server = await tcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
    await using client = testClient(server.url.replace('http:', 'https:'))
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({
      requestMayHaveArrived: false,
      cause: { code: 'ECONNRESET' },
    })
  })

  it.each<[string, Identity, string | undefined, string]>([
    ['expired', expired, authority, 'CERT_HAS_EXPIRED'],
    ['made for another host', elsewhere, authority, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['signed by itself', selfSigned, authority, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['signed by an unknown authority', valid, undefined, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ])('submitting is safe to repeat when the certificate is %s', async (_title, identity, ca, code) => {
    await using server = await httpServer((_request, response) => sendJson(response, accepted), identity)
    await using client = testClient(server.url, { ca })
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({
      requestMayHaveArrived: false,
      cause: { code },
    })
    expect(server.seen).toEqual([])
  })

  it('submits over TLS to a certificate of an authority that it was told to trust', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, accepted), valid)
    await using client = testClient(server.url, { ca: authority })
    expect(await client.submit('calculatorsUpsert', '{}')).toEqual(accepted)
  })

  it('submitting is uncertain when the connection is reset before the request was read', async () => {
    let connection: Socket | undefined
    await using server = await tcpServer((socket) => {
      connection = socket
    })
    await using client = testClient(server.url)
    // undici asks for the body when the connection stands, and nothing of the request was read by then.
    async function* parts() {
      connection?.resetAndDestroy()
      yield Buffer.from('{}')
    }
    expect(await rejection(client.submit('calculatorsUpsert', parts()))).toMatchObject({ code: 'submission_uncertain' })
    expect(connection?.bytesRead).toBe(0)
  })

  it('submitting is uncertain when the connection is reset in the middle of the request', async () => {
    await using server = await tcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
    await using client = testClient(server.url)
    const body = 'x'.repeat(20_000_000)
    expect(await rejection(client.submit('calculatorsUpsert', body))).toMatchObject({ code: 'submission_uncertain' })
  })

  it('submitting is uncertain when the connection is reset after the request was read', async () => {
    await using server = await tcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
    await using client = testClient(server.url)
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({ code: 'submission_uncertain' })
  })

  it('submitting is uncertain when the connection is closed without an answer', async () => {
    await using server = await tcpServer((socket) => socket.once('data', () => socket.end()))
    await using client = testClient(server.url)
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({ code: 'submission_uncertain' })
  })

  it('submitting is uncertain after garbage instead of HTTP', async () => {
    await using server = await tcpServer((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n')))
    await using client = testClient(server.url)
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({ code: 'submission_uncertain' })
  })

  it('submitting is uncertain when no headers come in time', async () => {
    await using server = await tcpServer(() => {})
    await using client = testClient(server.url)
    const error = await rejection(client.submit('calculatorsUpsert', '{}'))
    expect(error).toMatchObject({ code: 'submission_uncertain', cause: { cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } } })
  })

  it.each([
    ['stalls', (write: (text: string) => void) => write('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{')],
    [
      'is cut short',
      (write: (text: string) => void, end: () => void) => {
        write('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{')
        end()
      },
    ],
  ])('submitting is uncertain when the answer %s', async (_title, answer) => {
    await using server = await tcpServer((socket) => {
      socket.once('data', () =>
        answer(
          (text) => socket.write(text),
          () => socket.end(),
        ),
      )
    })
    await using client = testClient(server.url)
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({ code: 'submission_uncertain' })
  })

  it('submitting is uncertain when the body fails on the way', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, accepted))
    await using client = testClient(server.url)
    async function* parts() {
      yield Buffer.from('{')
      throw new Error('the ledger went away')
    }
    expect(await rejection(client.submit('calculatorsUpsert', parts()))).toMatchObject({ code: 'submission_uncertain' })
    expect(server.seen).toEqual([])
  })

  it('submitting is uncertain when it is aborted after it was sent', async () => {
    const stop = new AbortController()
    await using server = await httpServer(() => stop.abort(new Error('the process stops')))
    await using client = testClient(server.url, { signal: stop.signal })
    expect(await rejection(client.submit('calculatorsUpsert', '{}'))).toMatchObject({ code: 'submission_uncertain' })
  })

  it('submitting is safe to repeat when it is aborted while it waits for its turn', async () => {
    const stop = new AbortController()
    await using server = await httpServer(() => stop.abort(new Error('the process stops')))
    await using client = testClient(server.url, { signal: stop.signal, concurrency: 1 })
    const [running, waiting] = await Promise.all([
      rejection(client.submit('calculatorsUpsert', '{}')),
      rejection(client.submit('companyMappings', '{}')),
    ])
    expect(running).toMatchObject({ code: 'submission_uncertain' })
    expect(waiting).toMatchObject({ code: 'exchange_unreachable', requestMayHaveArrived: false })
    expect(server.seen).toHaveLength(1)
  })

  it('lets a submission under way end before it closes', async () => {
    const arrived = Promise.withResolvers<ServerResponse>()
    await using server = await httpServer((_request, response) => arrived.resolve(response))
    const client = testClient(server.url)
    const submitted = client.submit('calculatorsUpsert', '{}')
    const response = await arrived.promise
    const closed = client.close()
    sendJson(response, accepted)
    expect(await submitted).toEqual(accepted)
    await closed
  })
})

describe('cancelling', () => {
  it('asks once and ignores what the service answers with success', async () => {
    await using server = await httpServer((_request, response) => response.writeHead(200).end('cancelled'))
    await using client = testClient(server.url)
    await client.cancelTask('c1')
    expect(server.seen).toMatchObject([{ method: 'POST', path: '/api/v2/bulk/tasks/c1/cancel' }])
  })

  it('reports a task that already started as refused', async () => {
    await using server = await httpServer((_request, response) => sendJson(response, { errorCode: 'started' }, 409))
    await using client = testClient(server.url)
    expect(await rejection(client.cancelTask('c1'))).toMatchObject({ code: 'exchange_refused', status: 409 })
    expect(server.seen).toHaveLength(1)
  })
})
