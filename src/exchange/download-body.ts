import { pipeline, Readable, Transform, type TransformCallback } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { DownloadFailed, DownloadRefused } from './errors.ts'
import { zstdFrames } from './zstd-frames.ts'

export type DownloadLimits = {
  /** Bytes on the wire. */
  maxBytes: number
  /** Bytes after decompression. */
  maxInflatedBytes: number
  /**
   * Slowest rate on the wire that is still a download; 0 or undefined: any. Time in which the reader does not read does
   * not count.
   */
  minBytesPerSecond?: number | undefined
  /** Over which the rate is measured. */
  rateWindowMs: number
}

type DownloadSource = {
  host: string
  body: Readable
  /** Of the wire; null when the answer does not say. */
  contentLength: number | null
  inflater: Transform
  limits: DownloadLimits
  /** Frees the connection, when the body has ended in any way. */
  release: () => void
}

/** Compressed bytes that are decompressed in one go. */
const gatheredBytes = 256 * 1024

/**
 * The decompressed body of a download within its limits. It ends only when it is whole; otherwise it errors, with
 * `DownloadRefused` for a limit and `DownloadFailed` for a body that was cut short, stalled or cannot be decompressed.
 */
export function downloadBody({ host, body, contentLength, inflater, limits, release }: DownloadSource): Readable {
  const inner = pipeline(
    body,
    wireMeter(host, contentLength, limits),
    gather(),
    inflater,
    sizeLimit(host, limits.maxInflatedBytes, 'after decompression'),
    // Errors reach `out` by the last stream's own event.
    () => {},
  )
  const out = new Readable({
    // Parts stay as they are: a stream of bytes would copy those that wait into one.
    objectMode: true,
    highWaterMark: 1,
    read() {
      inner.resume()
    },
    destroy(error, done) {
      inner.destroy()
      body.destroy()
      release()
      done(error)
    },
  })
  const fail = (error: unknown) => out.destroy(asDownloadError(host, error))
  inner.on('data', (chunk: Buffer) => {
    if (!out.push(chunk)) inner.pause()
  })
  inner.on('end', () => out.push(null))
  inner.on('error', fail)
  inner.on('close', () => {
    if (!inner.readableEnded) fail(new Error('the connection was closed'))
  })
  inner.pause()
  // What breaks off before anyone reads is told to anyone who reads then.
  out.on('error', () => {})
  return out
}

function asDownloadError(host: string, error: unknown): Error {
  if (error instanceof DownloadRefused || error instanceof DownloadFailed) return error
  const detail = error instanceof Error ? error.message : String(error)
  return new DownloadFailed(host, `the body ended early or is damaged (${detail})`, { cause: error })
}

/**
 * Hands on larger parts than those that the network brings, so that the thread that decompresses them is not waiting
 * for the next while the reader is at work.
 */
function gather(): Transform {
  let parts: Buffer[] = []
  let bytes = 0
  const take = (): Buffer => {
    const whole = Buffer.concat(parts, bytes)
    parts = []
    bytes = 0
    return whole
  }
  return new Transform({
    readableHighWaterMark: 2 * gatheredBytes,
    transform(chunk: Buffer, _encoding, done) {
      parts.push(chunk)
      bytes += chunk.length
      if (bytes >= gatheredBytes) done(null, take())
      else done()
    },
    flush(done) {
      if (bytes > 0) done(null, take())
      else done()
    },
  })
}

function sizeLimit(host: string, maxBytes: number, where: string): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > maxBytes) done(new DownloadRefused(host, `it is longer than ${maxBytes} bytes ${where}`))
      else done(null, chunk)
    },
  })
}

/** Counts what arrives, against the limit, the promised length and the slowest rate. */
function wireMeter(host: string, contentLength: number | null, limits: DownloadLimits): Transform {
  const { maxBytes, minBytesPerSecond = 0, rateWindowMs } = limits
  let bytes = 0
  let bytesAtWindow = 0
  let readerWaited = false
  const meter = new Transform({
    transform(this: Transform, chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > maxBytes) return done(new DownloadRefused(host, `it is longer than ${maxBytes} bytes on the wire`))
      if (!this.push(chunk)) readerWaited = true
      done()
    },
    flush(done) {
      clearInterval(watch)
      if (contentLength === null || bytes === contentLength) return done()
      done(new DownloadFailed(host, `${bytes} of ${contentLength} bytes arrived`))
    },
    destroy(error, done) {
      clearInterval(watch)
      done(error)
    },
  })
  const leastBytes = (minBytesPerSecond * rateWindowMs) / 1000
  const watch = setInterval(() => {
    const slow = bytes - bytesAtWindow < leastBytes
    const wanted = !readerWaited && meter.readableLength === 0
    bytesAtWindow = bytes
    readerWaited = meter.readableLength > 0
    if (slow && wanted) meter.destroy(new DownloadFailed(host, `slower than ${minBytesPerSecond} bytes a second`))
  }, rateWindowMs)
  if (leastBytes === 0) clearInterval(watch)
  return meter
}

/**
 * Upper bound of one decompressed part: a thread of its own makes the next while the reader is at work on one. The
 * default of 16 KiB costs the reader of a large page more turns than bytes.
 */
const chunkSize = 512 * 1024

/** What can be undone, as a request offers it. */
export const acceptedCodings = 'gzip, deflate, br, zstd'

/**
 * Undoes a Content-Encoding; without one, gzip is recognised by its first bytes, because storage often serves a
 * compressed file as it lies. A JSON document cannot begin with them.
 * @returns null for a coding that we do not know, or several at once.
 */
export function createInflater(coding: string | undefined): Transform | null {
  switch (coding?.trim().toLowerCase() ?? '') {
    case '':
    case 'identity':
      return sniffed((head) => (head[0] === 0x1f && head[1] === 0x8b ? createGunzip({ chunkSize }) : null))
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ chunkSize })
    case 'deflate':
      // RFC 9110 means zlib, and some servers send the bare stream; method 8 in the first byte is zlib.
      return sniffed((head) =>
        ((head[0] ?? 0) & 0x0f) === 8 ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize }),
      )
    case 'br':
      return createBrotliDecompress({ chunkSize })
    case 'zstd':
      return zstdFrames(chunkSize)
    default:
      return null
  }
}

/**
 * Waits for two bytes, then passes everything through the decoder that they call for, or on as it is. A decoder can end
 * before the body does: what comes behind its end, such as the padding of block storage, is passed over.
 */
function sniffed(choose: (head: Buffer) => Transform | null): Transform {
  let head: Buffer | null = Buffer.alloc(0)
  let decoder: Transform | null = null
  let ended = false

  function begin(this: Transform): void {
    const first = head ?? Buffer.alloc(0)
    head = null
    decoder = choose(first)
    if (decoder === null) {
      if (first.length > 0) this.push(first)
      return
    }
    decoder.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) decoder?.pause()
    })
    decoder.once('end', () => {
      ended = true
    })
    decoder.on('error', (error) => this.destroy(error))
    decoder.write(first)
  }

  return new Transform({
    read(size) {
      decoder?.resume()
      Transform.prototype._read.call(this, size)
    },
    transform(this: Transform, chunk: Buffer, _encoding, done: TransformCallback) {
      if (head !== null) {
        head = Buffer.concat([head, chunk])
        if (head.length < 2) return done()
        begin.call(this)
        return done()
      }
      if (decoder === null) return done(null, chunk)
      if (ended) return done()
      decoder.write(chunk, (error) => done(error))
    },
    flush(this: Transform, done: TransformCallback) {
      if (head !== null) begin.call(this)
      if (decoder === null || ended) return done()
      decoder.once('end', () => done())
      decoder.end()
    },
    destroy(error, done) {
      decoder?.destroy()
      done(error)
    },
  })
}
