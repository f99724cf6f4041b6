import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { SizedBody } from '../../src/exchange/call-service.ts'
import { httpServer, sendJson, tcpServer, unusedPort } from './fault-server.ts'
import { rejection, testClient } from './test-client.ts'

const accepted = { correlationId: '0b6c2f4e-0000-4000-8000-000000000001' }

type Watched = SizedBody & { opened: number; ended: number; yielded: number }

/** A body of so many chunks of 64 KiB, that says otherwise when it is told to, and fails where it is told to. */
function sizedBody(chunks: number, options: { bytes?: number; failAt?: number } = {}): Watched {
  const chunk = Buffer.alloc(65_536, 0x20)
  const body: Watched = {
    bytes: options.bytes ?? chunks * chunk.length,
    opened: 0,
    ended: 0,
    yielded: 0,
    async *content() {
      body.opened += 1
      try {
        for (let at = 0; at < chunks; at++) {
          // As a pool says it when the database is down: not to be taken for a refused connection to the service.
          if (at === options.failAt)
            throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' })
          body.yielded += 1
          yield chunk
        }
      } finally {
        body.ended += 1
      }
    },
  }
  return body
}

async function plainServer(listener: ConstructorParameters<typeof Server>[1]): Promise<string> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('a request body whose length is known is sent with its length, not in chunks of the protocol', async () => {
  await using server = await httpServer((_request, response) => sendJson(response, accepted))
  await using client = testClient(server.url)
  const body = sizedBody(20)
  expect(await client.submit('companyMappings', body)).toEqual(accepted)
  expect(server.seen[0]?.headers).toMatchObject({ 'content-length': String(20 * 65_536) })
  expect(server.seen[0]?.headers).not.toHaveProperty('transfer-encoding')
  expect(server.seen[0]?.body.length).toBe(20 * 65_536)
  expect(body).toMatchObject({ opened: 1, ended: 1 })
})

it.each<[string, Watched]>([
  ['fails in the middle', sizedBody(20, { failAt: 10 })],
  ['fails before its first byte', sizedBody(20, { failAt: 0 })],
  ['is shorter than it said', sizedBody(20, { bytes: 21 * 65_536 })],
  ['is longer than it said', sizedBody(20, { bytes: 19 * 65_536 })],
])(
  'a request body whose length is known that %s is uncertain, and the service never has a whole request',
  async (_, body) => {
    await using server = await httpServer((_request, response) => sendJson(response, accepted))
    await using client = testClient(server.url)
    expect(await rejection(client.submit('companyMappings', body))).toMatchObject({ code: 'submission_uncertain' })
    expect(server.seen).toEqual([])
    expect(body.ended).toBe(1)
  },
)

it('a request body whose length is known is not opened when no connection comes up, and nothing was sent', async () => {
  await using client = testClient(`http://127.0.0.1:${await unusedPort()}`)
  const body = sizedBody(20)
  expect(await rejection(client.submit('companyMappings', body))).toMatchObject({ requestMayHaveArrived: false })
  expect(body.opened).toBe(0)
})

it('a request body whose length is known is left off, and uncertain, when the connection breaks in its middle', async () => {
  await using server = await tcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
  await using client = testClient(server.url)
  const body = sizedBody(2_000)
  expect(await rejection(client.submit('companyMappings', body))).toMatchObject({ code: 'submission_uncertain' })
  expect(body.yielded).toBeLessThan(2_000)
  expect(body.ended).toBe(1)
})

it.each([401, 429, 413])(
  'a request body whose length is known that the service answers %i without reading it is refused or uncertain, and left off',
  async (status) => {
    const url = await plainServer((_request, response) => response.writeHead(status).end('{"errorCode":"e"}'))
    await using client = testClient(url)
    const body = sizedBody(2_000)
    const error = await rejection(client.submit('companyMappings', body))
    expect(['submission_uncertain', 'exchange_unauthorized', 'exchange_throttled', 'exchange_refused']).toContain(
      (error as Error & { code: string }).code,
    )
    expect(body.yielded).toBeLessThan(2_000)
    expect(body.ended).toBe(1)
  },
)

it('a request body whose length is known is left off when the caller gives it up', async () => {
  const stalled = Promise.withResolvers<void>()
  const url = await plainServer((request) => {
    request.once('data', () => stalled.resolve())
    request.on('data', () => request.pause())
  })
  await using client = testClient(url, { headersTimeoutMs: 60_000 })
  const lost = new AbortController()
  const body = sizedBody(2_000)
  const outcome = rejection(client.submit('companyMappings', body, lost.signal))
  await stalled.promise
  lost.abort(new Error('the lock was lost'))
  expect(await outcome).toMatchObject({ code: 'submission_uncertain' })
  expect(body).toMatchObject({ opened: 1, ended: 1 })
})
