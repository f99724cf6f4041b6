import pg from 'pg'
import { copyOutBytes } from '../copy-rows.ts'
import type { Queryable } from '../running-sandbox.ts'
import { gzipHead, gzipTail, inflate } from './deflate.ts'

/** A complete file: its size in bytes and its CRC-32 as it is read. */
type StoredFile = { token: string; bytes: number; crc32: number }

/** The file behind this token, or null: no such file, or its task has not ended. */
export async function findFile(db: Queryable, token: string): Promise<StoredFile | null> {
  const { rows } = await db.query<{ bytes: string; crc32: string }>(
    `select f.bytes, f.crc32 from sandbox.file f join sandbox.task t on t.id = f.task_id
     where f.token = $1 and f.bytes is not null and t.finished_at is not null`,
    [token],
  )
  return rows[0] ? { token, bytes: Number(rows[0].bytes), crc32: Number(rows[0].crc32) } : null
}

/** The file's bytes, one stored piece at a time. */
export async function* readFile(pool: pg.Pool, token: string): AsyncGenerator<Buffer> {
  for await (const piece of readPieces(pool, token)) yield await inflate(piece)
}

/** The same file as one gzip member, put together from what is stored: it costs no compression. */
export async function* readGzipped(pool: pg.Pool, file: StoredFile): AsyncGenerator<Buffer> {
  yield gzipHead
  yield* readPieces(pool, file.token)
  yield gzipTail(file)
}

/** Pieces fetched at once: one alone costs its round trip more time than its bytes, many cost memory. */
const piecesAtOnce = 8

/** Deflated pieces in their order; the next ones are fetched while these are used. */
async function* readPieces(pool: pg.Pool, token: string): AsyncGenerator<Buffer> {
  const fetchPieces = (first: number) => {
    const fetched = copyOutBytes(
      pool,
      `select deflated from sandbox.file_chunk where token = ${pg.escapeLiteral(token)}
       and ordinal >= ${first} and ordinal < ${first + piecesAtOnce} order by ordinal`,
    )
    // Nobody may come for them any more; anyone who does sees the rejection.
    fetched.catch(() => undefined)
    return fetched
  }
  let next = fetchPieces(0)
  for (let first = piecesAtOnce; ; first += piecesAtOnce) {
    const pieces = await next
    if (pieces.length === 0) return
    next = fetchPieces(first)
    yield* pieces
  }
}
