import { randomBytes } from 'node:crypto'
import type { Queryable } from '../sandbox.ts'

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
 * Begins the nth result file of a task. Its token is the only key to it and cannot be guessed; nobody is told it
 * before the task has ended.
 */
export async function createFile(db: Queryable, taskId: string, ordinal: number): Promise<FileWriter> {
  const token = randomBytes(32).toString('base64url')
  await db.query('insert into sandbox.file (token, task_id, ordinal) values ($1, $2, $3)', [token, taskId, ordinal])
  let pieces: string[] = []
  let length = 0
  let chunks = 0
  const store = (at: number, text: string) =>
    db.query('insert into sandbox.file_chunk (token, ordinal, bytes) values ($1, $2, $3)', [
      token,
      at,
      Buffer.from(text, 'utf8'),
    ])
  const flush = async () => {
    if (length === 0) return
    chunks += 1
    const text = pieces.join('')
    pieces = []
    length = 0
    await store(chunks, text)
  }
  return {
    write: async (text) => {
      pieces.push(text)
      length += text.length
      if (length >= chunkLength) await flush()
    },
    end: async (head) => {
      await flush()
      await store(0, head)
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
