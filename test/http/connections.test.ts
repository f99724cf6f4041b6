import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { request as secureRequest } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { settings } from '../../src/config/schema.ts'
import { buildHttpServer } from '../../src/http/build-http-server.ts'
import { type HttpContext, type Route, route } from '../../src/http/route.ts'
import { healthRoutes } from '../../src/http/routes/standing-routes.ts'
import { inspectedLogger } from '../helpers/leaks.ts'
import { patience } from '../helpers/patience.ts'

const limit = 64
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightferry-tls-'))
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', ...files],
    { stdio: 'ignore' },
  )
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Answers when it is let go, so that its client is being answered until then. */
function heldRoute(): { held: Route; letGo: () => void; entered: () => number } {
  const { promise, resolve } = Promise.withResolvers<void>()
  let entered = 0
  const held = route({
    id: 'held',
    method: 'POST',
    path: '/held',
    summary: 'Waits',
    access: 'open',
    body: z.strictObject({ text: z.string().optional() }),
    answers: { 200: z.object({}) },
    handle: async () => {
      entered += 1
      await promise
      return {}
    },
  })
  return { held, letGo: resolve, entered: () => entered }
}

async function listening(given: object = {}, routes: readonly Route[] = []) {
  const { http } = settings.parse({ http: { connections: limit, ...given } })
  const context = {
    deps: { logger: inspectedLogger() },
    conceal: (text: string) => text,
    stopping: new AbortController().signal,
  } as unknown as HttpContext
  const server = buildHttpServer(context, http, [...healthRoutes, ...routes])
  await server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.server.address() as AddressInfo
  const sockets: Socket[] = []
  const open = async (text = ''): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    sockets.push(socket)
    await new Promise((resolve) => socket.once('connect', resolve))
    if (text !== '') socket.write(text)
    return socket
  }
  const opened = async (many: number, text = '') => {
    for (let number = 0; number < many; number++) await open(text)
  }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    open,
    opened,
    live: async () => (await fetch(`http://127.0.0.1:${port}/livez`, { headers: { connection: 'close' } })).status,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await server.close()
    },
  }
}

it.each([
  ['that say nothing', ''],
  ['that never end their headers', 'GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: '],
  [
    'that never send their body',
    'POST /held HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{',
  ],
])('three times as many clients as are let in, %s, do not keep /livez from its answer', async (_, text) => {
  const { held } = heldRoute()
  await using server = await listening({}, [held])
  await server.opened(3 * limit, text)
  // At once, and not only when the slow ones are given up after seconds.
  expect(await server.live()).toBe(200)
})

it('a client that is being answered keeps its connection, however many silent ones come after it', async () => {
  const { held, letGo, entered } = heldRoute()
  await using server = await listening({}, [held])
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  const answers = Array.from({ length: 10 }, () => fetch(`${server.url}/held`, init))
  await expect.poll(entered, patience).toBe(10)
  await server.opened(2 * limit)
  expect(await server.live()).toBe(200)
  letGo()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200))
})

it('a client that sends neither headers nor body is given up', async () => {
  await using server = await listening()
  const socket = await server.open('GET /livez HTTP/1.1\r\nHost: localhost\r\n')
  const said = await new Promise<string>((resolve) => {
    let text = ''
    socket.on('data', (piece) => {
      text += piece.toString()
    })
    socket.on('close', () => resolve(text))
  })
  expect(said).toMatch(/^HTTP\/1\.1 408 /)
}, 60_000)

it('the API refuses headers and bodies beyond its limits, by their status', async () => {
  const { held, letGo } = heldRoute()
  letGo()
  await using server = await listening({}, [held])
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const large = await fetch(`${server.url}/held`, { ...init, body: JSON.stringify({ text: 'x'.repeat(70_000) }) })
  expect([large.status, ((await large.json()) as { code: string }).code]).toEqual([413, 'request_malformed'])
  const small = await fetch(`${server.url}/held`, { ...init, body: JSON.stringify({ text: 'x'.repeat(60_000) }) })
  expect(small.status).toBe(200)
  const headers = await fetch(`${server.url}/livez`, { headers: { 'x-large': 'x'.repeat(20_000) } })
  expect(headers.status).toBe(431)
})

it('with TLS, silent clients and those without TLS do not keep /livez from its answer', async () => {
  await using server = await listening({ certificateFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') })
  await server.opened(limit)
  await server.opened(limit, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const status = await new Promise((resolve, reject) => {
    const asked = secureRequest(
      {
        host: '127.0.0.1',
        port: server.port,
        path: '/livez',
        rejectUnauthorized: false,
        headers: { host: 'localhost' },
      },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      },
    )
    asked.once('error', reject).end()
  })
  expect(status).toBe(200)
})
