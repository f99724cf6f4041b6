import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as immediate } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createInflater, downloadBody } from '../../src/exchange/download-body.ts'
import { DownloadRefused } from '../../src/exchange/errors.ts'
import { httpServer } from './fault-server.ts'
import { download, openSmall, page, serving } from './small-download.ts'
import { rejection } from './test-client.ts'

describe('a download', () => {
  it('brings the body byte for byte and tells its length on the wire', async () => {
    await using server = await serving(page, { 'content-length': String(page.length) })
    const { body, contentLength } = await openSmall(`${server.url}/files/1?signature=%2F+a`)
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

  const long = randomBytes(400_000)
  it.each([
    ['gzip without its header, with one byte', 'identity', gzipSync(long), 1],
    ['gzip without its header, with a whole block', 'identity', gzipSync(long), 1_000_000],
    ['deflate, with one byte', 'deflate', deflateSync(long), 1],
    ['bare deflate, with one byte', 'deflate', deflateRawSync(long), 1],
    ['bare deflate, with a whole block', 'deflate', deflateRawSync(long), 1_000_000],
  ])(
    'ends where a long compressed body is padded: %s',
    { timeout: 20_000 },
    async (_title, coding, packed, padding) => {
      const padded = Buffer.concat([packed, Buffer.alloc(padding)])
      await using server = await serving(padded, { 'content-encoding': coding })
      const limits = { maxBytes: padded.length, maxInflatedBytes: long.length }
      expect((await download(server.url, limits)).equals(long)).toBe(true)
    },
  )

  it('reads every member of a long gzip without its header', async () => {
    await using server = await serving(Buffer.concat([gzipSync(long), gzipSync(page), Buffer.alloc(1)]))
    expect((await download(server.url)).equals(Buffer.concat([long, page]))).toBe(true)
  })

  const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4])
  const [first, second] = [zstdCompressSync(page), zstdCompressSync(long)]
  it.each([
    ['two in one go', [first, second], [page, long]],
    ['one that can be skipped in front', [skippable, first], [page]],
    ['one that can be skipped between and behind', [first, skippable, second, skippable], [page, long]],
    ['a long one and many short ones', [second, ...Array(300).fill(first)], [long, ...Array(300).fill(page)]],
  ])('reads every frame of zstd: %s', async (_title, frames, parts) => {
    const [body, whole] = [Buffer.concat(frames), Buffer.concat(parts)]
    await using server = await serving(body, { 'content-encoding': 'zstd' })
    const limits = { maxBytes: body.length, maxInflatedBytes: whole.length }
    expect((await download(server.url, limits)).equals(whole)).toBe(true)
  })

  it('reads every frame of zstd when they come byte by byte', async () => {
    const body = Buffer.concat([first, skippable, first])
    const pieces = Readable.from(Array.from(body, (byte) => Buffer.from([byte])))
    const inflater = createInflater('zstd') ?? new PassThrough()
    expect((await buffer(pieces.pipe(inflater))).equals(Buffer.concat([page, page]))).toBe(true)
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

describe('the limits of a download', () => {
  it('refuses a length above the limit before it reads the body', async () => {
    await using server = await serving(page, { 'content-length': String(page.length) })
    expect(await rejection(openSmall(server.url, { maxBytes: 1000 }))).toMatchObject({ code: 'download_refused' })
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
    const { body: inflated } = await openSmall(server.url)
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
    expect(await rejection(openSmall(server.url))).toBeInstanceOf(DownloadRefused)
  })
})
