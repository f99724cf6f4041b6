import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createInflater, downloadBody } from '../../src/exchange/download-body.ts'
import { DownloadFailed } from '../../src/exchange/errors.ts'
import { httpServer, tcpServer, unusedPort } from './fault-server.ts'
import { download, openSmall, page, serving } from './small-download.ts'
import { rejection } from './test-client.ts'

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
    const error = await rejection(openSmall(server.url))
    expect(error).toBeInstanceOf(DownloadFailed)
    expect(error).toMatchObject({ code: 'download_failed', status, expired, retryAfterMs: 2000 })
  })

  it('a download that fails asks for the longest wait of several headers', async () => {
    await using server = await httpServer((_request, response) =>
      response.setHeader('retry-after', ['5', '20']).writeHead(503).end(),
    )
    expect(await rejection(openSmall(server.url))).toMatchObject({ retryAfterMs: 20_000 })
  })

  it('fails when nothing listens', async () => {
    const error = await rejection(openSmall(`http://127.0.0.1:${await unusedPort()}/`))
    expect(error).toMatchObject({ code: 'download_failed', status: null, expired: false })
  })

  it('fails when no headers come in time', async () => {
    await using server = await tcpServer(() => {})
    expect(await rejection(openSmall(server.url))).toMatchObject({
      code: 'download_failed',
      cause: { code: 'UND_ERR_HEADERS_TIMEOUT' },
    })
  })

  it('fails when garbage comes instead of HTTP', async () => {
    await using server = await tcpServer((socket) => socket.once('data', () => socket.end('SSH-2.0\r\n')))
    expect(await rejection(openSmall(server.url))).toMatchObject({ code: 'download_failed' })
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
    const { body } = await openSmall(server.url)
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
    ['zstd', Buffer.concat([zstdCompressSync(page), zstdCompressSync(page)])],
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

  it('errors when what follows a frame of zstd is none', async () => {
    const body = Buffer.concat([zstdCompressSync(page), Buffer.from('more')])
    await using server = await serving(body, { 'content-encoding': 'zstd' })
    expect(await rejection(download(server.url))).toBeInstanceOf(DownloadFailed)
  })

  it('errors when a body has more frames of zstd than files in parts have', { timeout: 60_000 }, async () => {
    const body = Buffer.alloc(8 * 10_001, Buffer.from([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]))
    await using server = await serving(body, { 'content-encoding': 'zstd' })
    expect((await rejection(download(server.url))).message).toContain('more than 10000 frames of zstd')
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
    const { body } = await openSmall(server.url, {
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
    const { body } = await openSmall(server.url, { bodyTimeoutMs: 60_000 })
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
    await rejection(openSmall(server.url, { bodyTimeoutMs: 60_000 }))
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
    const { body } = await openSmall(server.url, { signal: stop.signal, bodyTimeoutMs: 5000 })
    const reading = rejection(buffer(body))
    stop.abort(new Error('the process stops'))
    expect(await reading).toBeInstanceOf(DownloadFailed)
    expect(await rejection(openSmall(server.url, { signal: stop.signal }))).toBeInstanceOf(DownloadFailed)
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
