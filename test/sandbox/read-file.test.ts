import { randomUUID } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import { findFile, readFile, readGzipped } from '../../src/sandbox/files/read-file.ts'
import { createFile } from '../../src/sandbox/files/write-file.ts'
import { createSchema } from '../../src/sandbox/schema/create-schema.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { testPool } from '../helpers/test-pool.ts'

const { url } = await testDatabase({ template: 'empty' })
const pool = testPool(url, 2)
pool.on('error', () => undefined)
await createSchema(pool)
afterAll(() => pool.end())

/** A file of a head and so many pieces behind it, no two alike. */
async function fileOf(pieces: number): Promise<{ token: string; text: string }> {
  const task = randomUUID()
  await pool.query(
    `insert into sandbox.task (id, profile_id, api_key_id, request, method, path, status, items, identifiers, created_at, finished_at)
     values ($1, 1, $1, 'calculatorsSearch', 'POST', '/', 'success', 0, '{}', now(), now())`,
    [task],
  )
  const texts = Array.from({ length: pieces }, (_, at) => `Ærø ${at} `.repeat(50_000))
  const file = await createFile(pool, task, 0)
  for (const text of texts) await file.write(text)
  await file.end('the head ')
  const { rows } = await pool.query('select token from sandbox.file where task_id = $1', [task])
  return { token: rows[0].token, text: `the head ${texts.join('')}` }
}

async function bytesOf(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

// Pieces are fetched eight at a time.
it.each([0, 1, 6, 7, 8, 15, 16, 20])(
  'a head and %i pieces come back byte for byte, plain and gzipped',
  async (pieces) => {
    const { token, text } = await fileOf(pieces)
    const { rows } = await pool.query('select count(*)::int as stored from sandbox.file_chunk where token = $1', [
      token,
    ])
    expect(rows[0].stored).toBe(pieces + 1)
    const file = await findFile(pool, token)
    if (file === null) throw new Error('the file is not there')
    expect(file.bytes).toBe(Buffer.byteLength(text))
    expect((await bytesOf(readFile(pool, token))).equals(Buffer.from(text))).toBe(true)
    expect(gunzipSync(await bytesOf(readGzipped(pool, file))).equals(Buffer.from(text))).toBe(true)
  },
)
