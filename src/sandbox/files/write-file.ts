import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Queryable } from '../running-sandbox.ts'
import { combineCrc32 } from './crc32-combine.ts'
import { deflate } from './deflate.ts'

/** Result files are stored in pieces of about this many characters, so that no file has to fit in memory. */
const chunkLength = 256 * 1024

/** Removes what an interrupted attempt at the task left. */
export async function discardFiles(db: Queryable, taskId: string): Promise<void> {
  await db.query('delete from sandbox.file where task_id = $1', [taskId])
}

export type FileWriter = {
  write(text: string): Promise<void>
  /** Ends the file; `head` goes in front of everything that was written. */
  end(head: string): Promise<void>
}

/**
 * Begins the nth result file of a task. It is named by a token that cannot be guessed, and nobody is told it before the
 * task has ended. One piece is deflated and stored while the next is being written.
 */
export async function createFile(db: Queryable, taskId: string, ordinal: number): Promise<FileWriter> {
  const token = randomBytes(32).toString('base64url')
  await db.query('insert into sandbox.file (token, task_id, ordinal) values ($1, $2, $3)', [token, taskId, ordinal])
  let texts: string[] = []
  let length = 0
  let chunks = 0
  let body = { bytes: 0, crc32: 0 }
  let storing: Promise<unknown> = Promise.resolve()
  const store = async (at: number, bytes: Buffer) => {
    const deflated = await deflate(bytes)
    await db.query('insert into sandbox.file_chunk (token, ordinal, deflated) values ($1, $2, $3)', [
      token,
      at,
      deflated,
    ])
  }
  const flush = async () => {
    if (length === 0) return
    const bytes = Buffer.from(texts.join(''), 'utf8')
    texts = []
    length = 0
    body = { bytes: body.bytes + bytes.length, crc32: crc32(bytes, body.crc32) }
    await storing
    chunks += 1
    storing = store(chunks, bytes)
    // Thrown by the next call; the writer may also be abandoned, and then nobody waits for it.
    storing.catch(() => undefined)
  }
  return {
    write: async (text) => {
      texts.push(text)
      length += text.length
      if (length >= chunkLength) await flush()
    },
    end: async (head) => {
      await flush()
      await storing
      const bytes = Buffer.from(head, 'utf8')
      await store(0, bytes)
      await db.query('update sandbox.file set bytes = $2, crc32 = $3 where token = $1', [
        token,
        bytes.length + body.bytes,
        combineCrc32(crc32(bytes), body.crc32, body.bytes),
      ])
    },
  }
}

/** The one result file of an import: `{"<arrayName>":[…]}`, element by element. */
export async function createListFile(
  db: Queryable,
  taskId: string,
  arrayName: string,
): Promise<{ add(element: unknown): Promise<void>; end(): Promise<void> }> {
  const file = await createFile(db, taskId, 0)
  let first = true
  return {
    add: async (element) => {
      await file.write(`${first ? '' : ','}${JSON.stringify(element)}`)
      first = false
    },
    end: async () => {
      await file.write(']}')
      await file.end(`{${JSON.stringify(arrayName)}:[`)
    },
  }
}
