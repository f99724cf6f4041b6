import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { createFileAddresses } from '../src/sandbox/files/file-address.ts'
import { createFile } from '../src/sandbox/files/write-file.ts'
import { readWorld } from '../src/sandbox/read-world.ts'
import type { GeneratedPage } from './generate-page.ts'

export type StoredPage = { token: string; bytes: number }

/** Puts a page where a running sandbox keeps its result files, as the only file of a search that has ended. */
export async function storePage(sandbox: pg.Pool, { head, companies, tail }: GeneratedPage): Promise<StoredPage> {
  const task = randomUUID()
  await sandbox.query(
    `insert into sandbox.task (id, profile_id, api_key_id, request, method, path, status, items, identifiers, created_at, finished_at)
     values ($1, 1, $1, 'calculatorsSearch', 'POST', '/', 'success', 0, '{}', now(), now())`,
    [task],
  )
  const file = await createFile(sandbox, task, 0)
  for (const company of companies) await file.write(company)
  await file.write(tail)
  await file.end(head)
  const { rows } = await sandbox.query<{ token: string; bytes: string }>(
    'select token, bytes from sandbox.file where task_id = $1',
    [task],
  )
  if (rows[0] === undefined) throw new Error('the page was not stored')
  return { token: rows[0].token, bytes: Number(rows[0].bytes) }
}

/** A fresh address of a stored page: one is good for an hour. */
export async function addressOf(sandbox: pg.Pool, filesUrl: string, { token }: StoredPage): Promise<string> {
  const { fileSecret } = await readWorld(sandbox)
  const addresses = createFileAddresses({
    secret: fileSecret,
    baseUrl: () => filesUrl,
    lifetimeMs: 3_600_000,
    now: Date.now,
  })
  return addresses.sign(token)
}
