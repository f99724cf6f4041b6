import { promisify } from 'node:util'
import { constants, deflateRaw, inflateRaw } from 'node:zlib'

const { Z_FULL_FLUSH, Z_SYNC_FLUSH } = constants

/** Level 1: pages repeat ids so much that more effort would save little, and the time is the search's. */
export const deflate: (bytes: Uint8Array) => Promise<Buffer> = (bytes) =>
  promisify(deflateRaw)(bytes, { level: 1, finishFlush: Z_FULL_FLUSH })

/** Most pieces fit; the default of 16 KiB takes a turn of the thread pool, and a copy, for each sixteenth of one. */
const chunkSize = 512 * 1024

export const inflate: (deflated: Uint8Array) => Promise<Buffer> = (deflated) =>
  promisify(inflateRaw)(deflated, { finishFlush: Z_SYNC_FLUSH, chunkSize })

/** What goes in front of deflated pieces to make them a gzip file (RFC 1952): no name, no time, unknown system. */
export const gzipHead = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])

/** What goes behind them: an empty final block, the CRC-32 and the length of what was deflated. */
export function gzipTail(file: { bytes: number; crc32: number }): Buffer {
  const tail = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  tail.writeUInt32LE(file.crc32, 2)
  tail.writeUInt32LE(file.bytes % 2 ** 32, 6)
  return tail
}
