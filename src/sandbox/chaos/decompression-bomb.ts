import { promisify } from 'node:util'
import { constants, crc32, deflateRaw } from 'node:zlib'
import { combineCrc32 } from '../files/crc32-combine.ts'
import { deflate, gzipHead, gzipTail } from '../files/deflate.ts'

const pieceBytes = 64 * 1024 * 1024

/**
 * A gzip file of some ten megabytes that is `{"<listName>":[`, `pieces` times 64 MiB of white space, and `]}` when it
 * is unpacked: a good document, so that only a limit on unpacked bytes stops its reader. White space is compressed
 * once.
 */
export async function* decompressionBomb(listName: string, pieces = 160): AsyncGenerator<Buffer> {
  const head = Buffer.from(`{${JSON.stringify(listName)}:[`)
  const tail = Buffer.from(']}')
  const space = Buffer.alloc(pieceBytes, ' ')
  const spaceCrc32 = crc32(space)
  const deflated = await promisify(deflateRaw)(space, { level: 9, finishFlush: constants.Z_FULL_FLUSH })
  let crc = crc32(head)
  yield gzipHead
  yield await deflate(head)
  for (let sent = 0; sent < pieces; sent += 1) {
    crc = combineCrc32(crc, spaceCrc32, pieceBytes)
    yield deflated
  }
  yield await deflate(tail)
  const bytes = head.length + pieces * pieceBytes + tail.length
  yield gzipTail({ bytes, crc32: combineCrc32(crc, crc32(tail), tail.length) })
}
