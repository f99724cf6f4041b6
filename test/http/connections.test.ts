import { X509Certificate } from 'node:crypto'
import dnsPromises from 'node:dns/promises'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as secureRequest } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectSecurely } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { ConfigError } from '../../src/config/environment.ts'
import { settings } from '../../src/config/schema.ts'
import { buildHttpServer, readCertificateAgain } from '../../src/http/build-http-server.ts'
import { type HttpContext, Plain, type Route, route } from '../../src/http/route.ts'
import { allRoutes } from '../../src/http/routes/all-routes.ts'
import { healthRoutes } from '../../src/http/routes/standing-routes.ts'
import { listenHttp } from '../../src/http/start-http.ts'
import { inspectedLogger } from '../helpers/leaks.ts'
import { patience } from '../helpers/patience.ts'
import { writeCertificate } from '../helpers/write-certificate.ts'

const limit = 64
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightferry-tls-'))
  writeCertificate(folder)
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

/** Answers with a mebibyte at once. */
const large = route({
  id: 'large',
  method: 'GET',
  path: '/large',
  summary: 'Answers with much',
  access: 'open',
  answers: { 200: 'text/plain' },
  handle: () => new Plain('text/plain', 'x'.repeat(2 ** 20)),
})

/** More of it than the systems of both sides keep for a client that does not read. */
const muchAsked = 'GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(32)

async function listening(given: object = {}, routes: readonly Route[] = [], host = '127.0.0.1') {
  const { http } = settings.parse({ http: { connections: limit, ...given } })
  const context = {
    deps: { logger: inspectedLogger() },
    conceal: (text: string) => text,
    stopping: new AbortController().signal,
  } as unknown as HttpContext
  const server = buildHttpServer(context, http, [...healthRoutes, ...routes])
  await listenHttp(server, { ...http, host, port: 0 })
  const { port } = server.server.address() as AddressInfo
  const sockets: Socket[] = []
  const accepted: Socket[] = []
  const { certificateFile = null } = given as { certificateFile?: string }
  server.server.on(certificateFile === null ? 'connection' : 'secureConnection', (socket) => accepted.push(socket))
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
    readAgain: () => readCertificateAgain(server, http),
    shown: async (at = '127.0.0.1'): Promise<string> => {
      const socket = connectSecurely({ port, host: at, rejectUnauthorized: false })
      await new Promise((resolve) => socket.once('secureConnect', resolve))
      const { fingerprint256 } = socket.getPeerCertificate()
      socket.destroy()
      return fingerprint256
    },
    open,
    /** Connections whose clients do not take what is written to them. */
    stuck: () => accepted.filter(({ destroyed, writableLength }) => !destroyed && writableLength > 0).length,
    openSecurely: async (text: string) => {
      const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false })
      socket.on('error', () => {})
      sockets.push(socket)
      await new Promise((resolve) => socket.once('secureConnect', resolve))
      socket.write(text)
    },
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

const withTls = () => ({ certificateFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') })

async function liveSecurely(port: number): Promise<number | undefined> {
  return await new Promise((resolve, reject) => {
    const asked = secureRequest(
      { host: '127.0.0.1', port, path: '/livez', rejectUnauthorized: false, headers: { host: 'localhost' } },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      },
    )
    asked.once('error', reject).end()
  })
}

it('with TLS, silent clients and those without TLS do not keep /livez from its answer', async () => {
  await using server = await listening(withTls())
  await server.opened(limit)
  await server.opened(limit, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')
  expect(await liveSecurely(server.port)).toBe(200)
})

it('a certificate that was renewed is shown to new connections once it is read again, and none that has another key', async () => {
  const files = writeCertificate(folder)
  await using server = await listening(files)
  const first = await server.shown()
  writeCertificate(folder)
  expect(await server.shown()).toBe(first)
  const putInForce = server.readAgain()
  expect(await server.shown()).toBe(first)
  putInForce()
  const second = await server.shown()
  expect(second).not.toBe(first)
  const key = readFileSync(files.keyFile)
  writeCertificate(folder)
  writeFileSync(files.keyFile, key)
  expect(server.readAgain).toThrow(/http.keyFile: does not belong to the certificate/)
  writeFileSync(files.certificateFile, 'planted')
  expect(server.readAgain).toThrow(/http.certificateFile: is no certificate in PEM/)
  rmSync(files.keyFile)
  expect(server.readAgain).toThrow(/http.keyFile: cannot be read: ENOENT/)
  expect(await server.shown()).toBe(second)
  writeCertificate(folder)
})

describe('localhost with two addresses', () => {
  const addresses = ['127.0.0.1', '127.0.0.2']
  beforeEach(() => {
    const found = addresses.map((address) => ({ address, family: 4 }))
    vi.spyOn(dnsPromises, 'lookup').mockResolvedValue(found as never)
    syncBuiltinESMExports()
  })
  afterEach(() => {
    vi.restoreAllMocks()
    syncBuiltinESMExports()
  })

  it('a certificate that was renewed is shown at both once it is read again', async () => {
    const files = writeCertificate(folder)
    await using server = await listening(files, [], 'localhost')
    const shown = async () => await Promise.all(addresses.map((address) => server.shown(address)))
    const [first, same] = await shown()
    expect(same).toBe(first)
    writeCertificate(folder)
    server.readAgain()()
    const [second, renewed] = await shown()
    expect(second).not.toBe(first)
    expect(renewed).toBe(second)
  })

  it('a client at one takes the place of a silent one at the other, and neither is listened on after the end', async () => {
    let port = 0
    {
      await using server = await listening({ connections: 1 }, [], 'localhost')
      port = server.port
      const silent = connect(port, '127.0.0.2')
      const ended = new Promise((resolve) => silent.once('close', resolve))
      await new Promise((resolve) => silent.once('connect', resolve))
      expect(await server.live()).toBe(200)
      await ended
    }
    for (const address of addresses) {
      await expect(fetch(`http://${address}:${port}/livez`)).rejects.toThrow('fetch failed')
    }
  })
})

it.each<[string, (pem: string) => string | Buffer]>([
  ['whose second part is cut off', (pem) => pem + pem.slice(0, 300)],
  ['whose second part is no certificate', (pem) => pem + pem.replace(/\n[\s\S]*\n(?=-----END)/, '\nAAAA\n')],
  ['in DER', (pem) => new X509Certificate(pem).raw],
])('a certificate file %s is refused at the start and when it is read again, by its setting', async (_, broken) => {
  const files = writeCertificate(folder)
  await using server = await listening(files)
  const first = await server.shown()
  writeFileSync(files.certificateFile, broken(readFileSync(files.certificateFile, 'utf8')))
  expect(server.readAgain).toThrow(ConfigError)
  expect(server.readAgain).toThrow(/http.certificateFile: cannot be used: /)
  await expect(listening(files)).rejects.toThrow(/http.certificateFile: cannot be used: /)
  expect(await server.shown()).toBe(first)
  writeCertificate(folder)
})

it('clients that do not read their answers do not keep /livez from its answer', async () => {
  await using server = await listening({ connections: 4 }, [large])
  await server.opened(4, muchAsked)
  await expect.poll(server.stuck, patience).toBe(4)
  expect(await server.live()).toBe(200)
  await server.opened(8, muchAsked)
  expect(await server.live()).toBe(200)
})

it('with TLS, clients that do not read their answers do not keep /livez from its answer', async () => {
  await using server = await listening({ connections: 3, ...withTls() }, [large])
  for (let number = 0; number < 3; number++) await server.openSecurely(muchAsked)
  await expect.poll(server.stuck, patience).toBe(3)
  expect(await liveSecurely(server.port)).toBe(200)
})

it('a client that waits for its answer keeps its connection where another does not read its own', async () => {
  const { held, letGo, entered } = heldRoute()
  await using server = await listening({ connections: 2 }, [held, large])
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  const answer = fetch(`${server.url}/held`, init)
  await expect.poll(entered, patience).toBe(1)
  await server.open(muchAsked)
  await expect.poll(server.stuck, patience).toBe(1)
  expect([await server.live(), await server.live()]).toEqual([200, 200])
  letGo()
  expect((await answer).status).toBe(200)
})

it('the description of all routes is written once', async () => {
  let written = 0
  const routes = allRoutes(() => ({ written: ++written }))
  await using server = await listening(
    {},
    routes.filter(({ id }) => id === 'describe'),
  )
  const ask = async () => await (await fetch(`${server.url}/openapi.json`)).json()
  expect([await ask(), await ask()]).toEqual([{ written: 1 }, { written: 1 }])
})

it.each([
  ['letters', 'h'],
  ['letters of three bytes', '旅'],
  ['slashes', '/'],
])('an id of 1,000 %s reaches its route, and a longer one is refused by it', async (_, letter) => {
  const named = route({
    id: 'named',
    method: 'GET',
    path: '/named/{id}',
    summary: 'Answers with what it was asked for',
    access: 'open',
    params: z.strictObject({ id: z.string().max(1_000) }),
    answers: { 200: z.object({}) },
    handle: (_context, { params: { id } }) => ({ id }),
  })
  await using server = await listening({}, [named])
  const ask = async (letters: number) => {
    const answer = await fetch(`${server.url}/named/${encodeURIComponent(letter.repeat(letters))}`)
    return { status: answer.status, ...((await answer.json()) as object) }
  }
  expect(await ask(1_000)).toEqual({ status: 200, id: letter.repeat(1_000) })
  expect(await ask(1_001)).toMatchObject({ status: 400, code: 'request_malformed' })
})
