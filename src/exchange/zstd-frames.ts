import { Transform, type TransformCallback } from 'node:stream'
import { constants, createZstdDecompress, type ZstdDecompress } from 'node:zlib'

/** RFC 9659: a decoder of zstd over HTTP need not hold a window above 8 MiB, and a sender must not ask for one. */
const params = { [constants.ZSTD_d_windowLogMax]: 23 }

/**
 * A decoder for a frame takes a fifth of a millisecond, and a frame can be of 8 bytes: without a bound a file of 256
 * MiB would keep a processor busy for an hour and a half. Files in parts have a frame for each megabyte or so.
 */
const maxFrames = 10_000

/**
 * Undoes zstd, every frame of it (RFC 8878, section 3). The decoder of Node.js ends with the first frame behind which
 * more stands, without an error, so each goes on with a decoder of its own.
 * @param chunkSize upper bound of one decompressed part. Bytes.
 */
export function zstdFrames(chunkSize: number): Transform {
  let frames = 0
  let decoder: ZstdDecompress

  function begin(): void {
    frames += 1
    const begun = createZstdDecompress({ params, chunkSize })
    begun.on('data', (chunk: Buffer) => {
      if (!whole.push(chunk)) begun.pause()
    })
    begun.on('error', (error) => whole.destroy(error))
    decoder = begun
  }

  function feed(chunk: Buffer, done: TransformCallback): void {
    const fed = decoder
    const before = fed.bytesWritten
    const next = (rest: Buffer) => {
      fed.destroy()
      if (frames >= maxFrames) return done(new Error(`it has more than ${maxFrames} frames of zstd`))
      begin()
      feed(rest, done)
    }
    fed.write(chunk, (error) => {
      // Its own event destroys everything.
      if (error) return
      const rest = chunk.subarray(fed.bytesWritten - before)
      if (rest.length === 0) done()
      else if (fed.readableEnded) next(rest)
      else fed.once('end', () => next(rest))
    })
  }

  const whole = new Transform({
    read(size) {
      decoder.resume()
      Transform.prototype._read.call(this, size)
    },
    transform: (chunk: Buffer, _encoding, done) => feed(chunk, done),
    flush(done) {
      decoder.once('end', () => done())
      decoder.end()
    },
    destroy(error, done) {
      decoder.destroy()
      done(error)
    },
  })
  begin()
  return whole
}
