import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as immediate } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { type DownloadOptions, openDownload } from '../../src/exchange/download.ts'
import { downloadBody } from '../../src/exchange/download-body.ts'
import { DownloadFailed, DownloadRefused } from '../../src/exchange/download-errors.ts'
import { createInflater } from '../../src/exchange/inflate.ts'
import { authority, elsewhere, valid } from './certificates.ts'
import { httpServer, tcpServer, unusedPort } from './fault-server.ts'
import { apiKey, rejection } from './test-client.ts'

const page = Buffer.from(
  JSON.stringify({ companies: [{ id: 'a', name: 'Hôtel ホテル' }], padding: 'x'.repeat(200_000) }),
)

function open(url: string, options: Partial<DownloadOptions> = {}) {
  return openDownload({
    url,
    baseUrl: 'http://127.0.0.1:1',
    apiKey,
    allowedHosts: [],
    maxBytes: 1_000_000,
    maxInflatedBytes: 1_000_000,
    connectTimeoutMs: 2000,
    headersTimeoutMs: 300,
    bodyTimeoutMs: 300,
    ...options,
  })
}

async function download(url: string, options: Partial<DownloadOptions> = {}): Promise<Buffer> {
  const { body } = await open(url, options)
  return buffer(body)
}

/** A server that answers every request with this body. */
function serving(body: Buffer, headers: Record<string, string> = {}) {
  return httpServer((_request, response) => response.writeHead(200, headers).end(body))
}

describe('a download', () => {
  it('brings the body byte for byte and tells its length on the wire', async () => {
    await using server = await serving(page, { 'content-length': String(page.length) })
    const { body, contentLength } = await open(`${server.url}/files/1?signature=%2F+a`)
    expect(contentLength).toBe(page.length)
    expect((await buffer(body)).equals(page)).toBe(true)
    expect(server.seen[0]).toMatchObject({ method: 'GET', path: '/files/1?signature=%2F+a' })
  })

  it('brings an empty body', async () => {
    await using server = await serving(Buffer.alloc(0))
    expect(await download(server.url)).toHaveLength(0)
  })

  it.each([
    ['gzip', gzipSync(page)],
    ['x-gzip', gzipSync(page)],
    ['GZIP', gzipSync(page)],
    ['deflate', deflateSync(page)],
    ['deflate', deflateRawSync(page)],
    ['br', brotliCompressSync(page)],
    ['zstd', zstdCompressSync(page)],
    ['identity', page],
  ])('undoes %s', async (coding, body) => {
    await using server = await serving(body, { 'content-encoding': coding })
    expect((await download(server.url)).equals(page)).toBe(true)
  })

  it('recognises gzip without its header', async () => {
    await using server = await serving(gzipSync(page), { 'content-type': 'application/json' })
    expect((await download(server.url)).equals(page)).toBe(true)
  })

  it('recognises gzip without its header when the first byte comes alone', async () => {
    const packed = gzipSync(page)
    await using server = await httpServer((_request, response) => {
      response.write(packed.subarray(0, 1), () => void immediate().then(() => response.end(packed.subarray(1))))
    })
    expect((await download(server.url)).equals(page)).toBe(true)
  })

  it('passes on a body of one byte', async () => {
    await using server = await serving(Buffer.from('7'))
    expect((await download(server.url)).toString()).toBe('7')
  })

  it.each([
    ['as it is', (body: Buffer) => body],
    ['from gzip without its header', (body: Buffer) => gzipSync(body, { level: 0 })],
  ])('takes a bounded amount in while nobody reads, %s', async (_title, pack) => {
    const large = Buffer.alloc(32 * 1024 * 1024, 'nightferry ')
    const packed = pack(large)
    const limits = { maxBytes: 1e9, maxInflatedBytes: 1e9, rateWindowMs: 1000 }
    /** The body of a source that counts what is taken from it. */
    const counted = () => {
      const source = { taken: 0 }
      function* parts() {
        for (let at = 0; at < packed.length; at += 65_536) {
          const part = packed.subarray(at, at + 65_536)
          source.taken += part.length
          yield part
        }
      }
      const inflater = createInflater('identity') ?? new PassThrough()
      const body = Readable.from(parts(), { objectMode: false })
      return {
        source,
        body: downloadBody({ host: 'here', body, contentLength: null, inflater, limits, release: () => {} }),
      }
    }
    const unread = counted()
    await once(unread.body, 'readable')
    unread.body.read(1)
    // As long as another one takes to be read to its end, this one could have been taken in as well.
    expect(await buffer(counted().body)).toHaveLength(large.length)
    expect(unread.source.taken).toBeLessThan(6_000_000)
    unread.body.destroy()
  })

  it('inflates a bounded amount while nobody reads, when gzip is recognised by its first bytes', async () => {
    const packed = gzipSync(Buffer.alloc(50_000_000))
    const unread = createInflater(undefined) ?? new PassThrough()
    unread.write(packed)
    const read = createInflater(undefined) ?? new PassThrough()
    read.end(packed)
    // As long as another one takes to be inflated whole, this one could have been inflated as well.
    expect(await buffer(read)).toHaveLength(50_000_000)
    expect(unread.readableLength).toBeGreaterThan(0)
    expect(unread.readableLength).toBeLessThan(2_500_000)
    unread.destroy()
  })
})

describe('a download that does not complete', () => {
  it.each([
    [403, true],
    [404, true],
    [410, true],
    [401, false],
    [500, false],
    [503, false],
    [204, false],
    [206, false],
  ])('fails after %i, expired: %s', async (status, expired) => {
    await using server = await httpServer((_request, response) =>
      response.writeHead(status, { 'retry-after': '2' }).end(),
    )
    const error = await rejection(open(server.url))
    expect(error).toBeInstanceOf(DownloadFailed)
    expect(error).toMatchObject({ code: 'download_failed', status, expired, retryAfterMs: 2000 })
  })

  it('fails when nothing listens', async () => {
    const error = await rejection(open(`http://127.0.0.1:${await unusedPort()}/`))
    expect(error).toMatchObject({ code: 'download_failed', status: null, expired: false })
  })

  it('fails when no headers come in time', async () => {
    await using server = await tcpServer(() => {})
    expect(await rejection(open(server.url))).toMatchObject({
      code: 'download_failed',
      cause: { code: 'UND_ERR_HEADERS_TIMEOUT' },
    })
  })

  it('fails when garbage comes instead of HTTP', async () => {
    await using server = await tcpServer((socket) => socket.once('data', () => socket.end('SSH-2.0\r\n')))
    expect(await rejection(open(server.url))).toMatchObject({ code: 'download_failed' })
  })

  it.each([
    ['with a length, closed', 'Content-Length: 9\r\n', '[1,2'],
    ['with a length, on a connection to be closed', 'Content-Length: 9\r\nConnection: close\r\n', '[1,2'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n', '4\r\n[1,2\r\n'],
    ['in chunks, on a connection to be closed', 'Transfer-Encoding: chunked\r\nConnection: close\r\n', '4\r\n[1,2\r\n'],
  ])('errors when the body is cut short %s', async (_title, headers, body) => {
    await using server = await tcpServer((socket) =>
      socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${headers}\r\n${body}`)),
    )
    expect(await rejection(download(server.url))).toBeInstanceOf(DownloadFailed)
  })

  it('errors when the connection is reset in the middle of the body', async () => {
    await using server = await tcpServer((socket) => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[', () => socket.resetAndDestroy()),
      )
    })
    expect(await rejection(download(server.url))).toBeInstanceOf(DownloadFailed)
  })

  it('tells anyone who reads later that the connection broke while nobody did', async () => {
    await using server = await tcpServer((socket) =>
      socket.once('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[', () => socket.resetAndDestroy()),
      ),
    )
    const { body } = await open(server.url)
    if (!body.closed) await new Promise((resolve) => body.once('close', resolve))
    expect(await rejection(buffer(body))).toMatchObject({ code: 'download_failed' })
  })

  it('ends normally when a body without a length is closed early, because only its parser can notice', async () => {
    await using server = await tcpServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n[1,2')),
    )
    expect((await download(server.url)).toString()).toBe('[1,2')
  })

  it.each([
    ['gzip', gzipSync(page)],
    ['deflate', deflateSync(page)],
    ['br', brotliCompressSync(page)],
    ['zstd', zstdCompressSync(page)],
    ['no coding, gzip recognised', gzipSync(page)],
  ])('errors when a body under %s is cut short and closed cleanly', async (coding, body) => {
    await using server = await tcpServer((socket) => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n${coding.startsWith('no') ? '' : `Content-Encoding: ${coding}\r\n`}\r\n`)
        socket.end(body.subarray(0, body.length - 9))
      })
    })
    expect(await rejection(download(server.url))).toBeInstanceOf(DownloadFailed)
  })

  it.each(['gzip', 'br', 'zstd'])('errors when the body is not %s, though it says so', async (coding) => {
    await using server = await serving(page, { 'content-encoding': coding })
    expect(await rejection(download(server.url))).toBeInstanceOf(DownloadFailed)
  })

  it('errors when the body stalls', async () => {
    await using server = await tcpServer((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[')),
    )
    expect(await rejection(download(server.url))).toMatchObject({
      code: 'download_failed',
      cause: { code: 'UND_ERR_BODY_TIMEOUT' },
    })
  })

  it('errors when the body drips below the slowest rate', async () => {
    await using server = await httpServer((_request, response) => {
      const drip = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(drip))
    })
    const error = await rejection(download(server.url, { minBytesPerSecond: 1000, rateWindowMs: 100 }))
    expect(error).toBeInstanceOf(DownloadFailed)
    expect(error.message).toContain('slower than 1000 bytes a second')
  })

  it('does not hold a slow reader for a slow download', async () => {
    await using server = await serving(Buffer.alloc(8_000_000, ' '))
    const { body } = await open(server.url, {
      maxBytes: 1e9,
      maxInflatedBytes: 1e9,
      minBytesPerSecond: 1e6,
      rateWindowMs: 20,
      bodyTimeoutMs: 5000,
    })
    let bytes = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      // Reads for a few windows' worth of time per megabyte.
      if (Math.floor((bytes + chunk.length) / 1e6) > Math.floor(bytes / 1e6)) await windows(20, 4)
      bytes += chunk.length
    }
    expect(bytes).toBe(8_000_000)
  })

  it('frees the connection when its reader stops early', async () => {
    let closed: (() => void) | undefined
    const gone = new Promise<void>((resolve) => {
      closed = resolve
    })
    await using server = await httpServer((_request, response) => {
      response.on('close', () => closed?.())
      response.write(page)
    })
    const { body } = await open(server.url, { bodyTimeoutMs: 60_000 })
    body.destroy()
    await gone
  })

  it.each([302, 404])('frees the connection of an answer of %i whose body nobody reads', async (status) => {
    let closed: (() => void) | undefined
    const gone = new Promise<void>((resolve) => {
      closed = resolve
    })
    await using server = await httpServer((_request, response) => {
      response.on('close', () => closed?.())
      response.writeHead(status, { location: 'file:///' }).write(page)
    })
    await rejection(open(server.url, { bodyTimeoutMs: 60_000 }))
    await gone
  })

  it('errors when fewer bytes arrived than were promised, whatever the connection says', async () => {
    const [body, inflater] = [Readable.from([Buffer.from('[1,2')]), createInflater('identity') ?? new PassThrough()]
    const limits = { maxBytes: 100, maxInflatedBytes: 100, rateWindowMs: 100 }
    const whole = downloadBody({ host: 'here', body, contentLength: 9, inflater, limits, release: () => {} })
    const error = await rejection(buffer(whole))
    expect(error).toBeInstanceOf(DownloadFailed)
    expect(error.message).toContain('4 of 9 bytes arrived')
  })

  it('ends when the signal aborts, before and in the body', async () => {
    const stop = new AbortController()
    await using server = await httpServer((_request, response) => response.write('['))
    const { body } = await open(server.url, { signal: stop.signal, bodyTimeoutMs: 5000 })
    const reading = rejection(buffer(body))
    stop.abort(new Error('the process stops'))
    expect(await reading).toBeInstanceOf(DownloadFailed)
    expect(await rejection(open(server.url, { signal: stop.signal }))).toBeInstanceOf(DownloadFailed)
  })
})

describe('the limits of a download', () => {
  it('refuses a length above the limit before it reads the body', async () => {
    await using server = await serving(page, { 'content-length': String(page.length) })
    expect(await rejection(open(server.url, { maxBytes: 1000 }))).toMatchObject({ code: 'download_refused' })
  })

  it('stops a body that turns out longer than the limit', async () => {
    await using server = await httpServer((_request, response) => {
      response.write(page)
      response.end(page)
    })
    const error = await rejection(download(server.url, { maxBytes: page.length + 1 }))
    expect(error).toBeInstanceOf(DownloadRefused)
  })

  const bomb = Buffer.alloc(50_000_000)
  it.each([
    ['gzip', gzipSync(bomb)],
    ['deflate', deflateSync(bomb)],
    ['br', brotliCompressSync(bomb)],
    ['zstd', zstdCompressSync(bomb)],
    ['identity', gzipSync(bomb)],
  ])('stops a decompression bomb under %s', async (coding, body) => {
    await using server = await serving(body, { 'content-encoding': coding })
    const { body: inflated } = await open(server.url)
    let bytes = 0
    inflated.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    const error = await new Promise((resolve) => inflated.on('error', resolve))
    expect(error).toBeInstanceOf(DownloadRefused)
    expect(bytes).toBeLessThanOrEqual(1_000_000)
  })

  it('lets a body of exactly the limit through', async () => {
    await using server = await serving(gzipSync(page))
    expect(await download(server.url, { maxInflatedBytes: page.length })).toHaveLength(page.length)
  })

  it.each(['compress', 'gzip, br', 'unheard-of'])('refuses the coding %s', async (coding) => {
    await using server = await serving(page, { 'content-encoding': coding })
    expect(await rejection(open(server.url))).toBeInstanceOf(DownloadRefused)
  })
})

describe('the addresses of a download', () => {
  const publicBase = { baseUrl: 'https://exchange.example' }
  /** A resolver that knows the base address as public and every other name by these addresses. */
  const answering =
    (...addresses: string[]) =>
    async (host: string) =>
      (host === 'exchange.example' ? ['8.8.8.8'] : addresses).map((address) => ({ address, family: 4 }))

  it.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
    'https://[64:ff9b::7f00:1]/',
    'https://0.0.0.0/',
  ])('refuses the literal %s before it connects', async (url) => {
    const error = await rejection(open(url, { ...publicBase, lookup: answering() }))
    expect(error).toMatchObject({ code: 'download_refused' })
  })

  it('refuses a name that resolves to a private address, and never connects', async () => {
    await using server = await httpServer((_request, response) => response.end('[]'), valid)
    const url = `https://localhost:${server.port}/`
    const error = await rejection(open(url, { ...publicBase, ca: authority, lookup: answering('127.0.0.1') }))
    expect(error).toBeInstanceOf(DownloadRefused)
    expect(error.message).toContain('loopback')
    expect(server.seen).toEqual([])
  })

  it('refuses a name of which one address is private', async () => {
    const lookup = answering('8.8.8.8', '10.0.0.1')
    expect(await rejection(open('https://files.example/', { ...publicBase, lookup }))).toBeInstanceOf(DownloadRefused)
  })

  it('connects to the address that was judged and resolves the name once', async () => {
    let lookups = 0
    await using server = await httpServer((_request, response) => response.end('[]'), valid)
    const body = await download(`https://localhost:${server.port}/`, {
      ca: authority,
      lookup: async () => {
        lookups += 1
        return [{ address: lookups === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 }]
      },
    })
    expect(body.toString()).toBe('[]')
    expect(lookups).toBe(1)
  })

  it('lets a base name that resolves to loopback have its files there', async () => {
    await using server = await httpServer((_request, response) => response.end('[]'), valid)
    const lookup = answering('127.0.0.1')
    const url = `https://localhost:${server.port}/`
    expect((await download(url, { baseUrl: 'https://exchange.internal', ca: authority, lookup })).toString()).toBe('[]')
  })

  it('does not let a loopback base open other private networks', async () => {
    expect(await rejection(open('http://169.254.169.254/'))).toBeInstanceOf(DownloadRefused)
    expect(await rejection(open('http://10.0.0.1/'))).toBeInstanceOf(DownloadRefused)
  })

  it('lets an allowed host have a private address', async () => {
    await using server = await httpServer((_request, response) => response.end('[]'), valid)
    const options = { ...publicBase, ca: authority, lookup: answering('127.0.0.1'), allowedHosts: ['localhost'] }
    expect((await download(`https://localhost:${server.port}/`, options)).toString()).toBe('[]')
  })

  it('fails for a name that does not resolve', async () => {
    const lookup = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND files.example'), { code: 'ENOTFOUND' })
    }
    expect(await rejection(open('https://files.example/', { ...publicBase, lookup }))).toBeInstanceOf(DownloadFailed)
    expect(await rejection(open('https://files.example/', { ...publicBase, lookup: async () => [] }))).toBeInstanceOf(
      DownloadRefused,
    )
  })

  it('fails for a certificate of another host', async () => {
    await using server = await httpServer((_request, response) => response.end('[]'), elsewhere)
    expect(await rejection(open(server.url, { ca: authority }))).toMatchObject({ code: 'download_failed' })
  })
})

describe('redirects and the key', () => {
  const redirecting = (location: () => string, status = 302) =>
    httpServer((_request, response) => response.writeHead(status, { location: location() }).end('moved'))

  it('sends the key to the own origin', async () => {
    await using server = await serving(page)
    await download(`${server.url}/files/1`, { baseUrl: `${server.url}/base` })
    expect(server.seen[0]?.headers.authorization).toBe(apiKey)
  })

  it('never sends the key to another port of the own host', async () => {
    await using server = await serving(page)
    await download(server.url)
    expect(server.seen[0]?.headers).not.toHaveProperty('authorization')
  })

  it.each([301, 302, 303, 307, 308])('follows %i to another origin without the key', async (status) => {
    await using elsewhere = await serving(page)
    await using own = await redirecting(() => `${elsewhere.url}/moved`, status)
    expect((await download(own.url, { baseUrl: own.url })).equals(page)).toBe(true)
    expect(own.seen[0]?.headers.authorization).toBe(apiKey)
    expect(elsewhere.seen[0]?.path).toBe('/moved')
    expect(elsewhere.seen[0]?.headers).not.toHaveProperty('authorization')
  })

  it('follows a relative redirect', async () => {
    await using server = await httpServer((request, response) => {
      if (request.path === '/next') response.end('[]')
      else response.writeHead(302, { location: 'next' }).end()
    })
    expect((await download(`${server.url}/first`)).toString()).toBe('[]')
  })

  it('follows three redirects and refuses the fourth', async () => {
    await using server = await httpServer((request, response) => {
      const left = Number(request.path.slice(1))
      if (left === 0) response.end('[]')
      else response.writeHead(302, { location: `/${left - 1}` }).end()
    })
    expect((await download(`${server.url}/3`)).toString()).toBe('[]')
    expect(await rejection(open(`${server.url}/4`))).toBeInstanceOf(DownloadRefused)
    expect(server.seen.filter((request) => request.path === '/0')).toHaveLength(1)
  })

  it.each(['http://169.254.169.254/', 'http://10.0.0.1/', 'file:///etc/passwd', 'http://user:secret@127.0.0.1/'])(
    'judges a redirect to %s again',
    async (location) => {
      await using server = await redirecting(() => location)
      const error = await rejection(open(server.url))
      expect(error).toBeInstanceOf(DownloadRefused)
      expect(error.message).not.toContain('secret')
    },
  )

  it.each([{}, { location: 'http://' }])('fails for a redirect that leads nowhere: %j', async (headers) => {
    await using server = await httpServer((_request, response) => response.writeHead(302, headers).end())
    expect(await rejection(open(server.url))).toBeInstanceOf(DownloadFailed)
  })

  it('never names the path, the query or the key in a message', async () => {
    await using server = await httpServer((_request, response) => response.writeHead(404).end(apiKey))
    const error = await rejection(open(`${server.url}/token?signature=abc`, { baseUrl: server.url }))
    expect(error.message).not.toMatch(/token|abc|canary/)
  })
})

/** Resolves after `count` ticks of a timer, so that as many rate windows have passed. */
function windows(everyMs: number, count: number): Promise<void> {
  return new Promise((resolve) => {
    let ticks = 0
    const timer = setInterval(() => {
      ticks += 1
      if (ticks < count) return
      clearInterval(timer)
      resolve()
    }, everyMs)
  })
}
