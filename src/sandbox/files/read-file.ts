import type { Queryable } from '../sandbox.ts'
import { gzipHead, gzipTail, inflate } from './deflate.ts'

/** A complete file: its size in bytes and its CRC-32 as it is read. */
export type StoredFile = { token: string; bytes: number; crc32: number }

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
export async function* readFile(db: Queryable, token: string): AsyncGenerator<Buffer> {
  for await (const piece of readPieces(db, token)) yield await inflate(piece)
}

/** The same file as one gzip member, put together from what is stored: it costs no compression. */
export async function* readGzipped(db: Queryable, file: StoredFile): AsyncGenerator<Buffer> {
  yield gzipHead
  yield* readPieces(db, file.token)
  yield gzipTail(file)
}

/** Deflated pieces in their order; the next is fetched while one is used. */
async function* readPieces(db: Queryable, token: string): AsyncGenerator<Buffer> {
  const fetchPiece = (ordinal: number) => {
    const fetched = db
      .query<{ deflated: Buffer }>('select deflated from sandbox.file_chunk where token = $1 and ordinal = $2', [
        token,
        ordinal,
      ])
      .then(({ rows }) => rows[0]?.deflated)
    // Nobody may come for it any more; whoever does sees the rejection.
    fetched.catch(() => undefined)
    return fetched
  }
  let next = fetchPiece(0)
  for (let ordinal = 1; ; ordinal += 1) {
    const piece = await next
    if (piece === undefined) return
    next = fetchPiece(ordinal)
    yield piece
  }
}
