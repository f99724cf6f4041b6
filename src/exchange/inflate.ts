import { Transform, type TransformCallback } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'

/** RFC 9659: a decoder of zstd over HTTP need not hold a window above 8 MiB, and a sender must not ask for one. */
const zstdParams = { [constants.ZSTD_d_windowLogMax]: 23 }

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
      return createZstdDecompress({ params: zstdParams, chunkSize })
    default:
      return null
  }
}

/** Waits for two bytes, then passes everything through the decoder that they call for, or on as it is. */
function sniffed(choose: (head: Buffer) => Transform | null): Transform {
  let head: Buffer | null = Buffer.alloc(0)
  let decoder: Transform | null = null

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
      decoder.write(chunk, (error) => done(error))
    },
    flush(this: Transform, done: TransformCallback) {
      if (head !== null) begin.call(this)
      if (decoder === null) return done()
      decoder.once('end', () => done())
      decoder.end()
    },
    destroy(error, done) {
      decoder?.destroy()
      done(error)
    },
  })
}
