import { join } from 'node:path'
import pg from 'pg'
import { vi } from 'vitest'
import { type BulkRequest, type Contract, loadContract } from '../../src/exchange/contract.ts'
import { type SandboxOptions, startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { testDatabase } from '../helpers/postgres.ts'
import type { ErrorBody, Page, Task } from './documents.ts'

export const contract: Contract = loadContract(join(import.meta.dirname, '../../config/contract.yaml'))

export const seed = 7

export type Answer<T> = { status: number; body: T }

export type OpenSandbox = {
  readonly url: string
  readonly pool: pg.Pool
  /** `T` is what the test expects; `key` null sends none. */
  call<T = ErrorBody>(
    method: string,
    path: string,
    options?: { key?: string | null; body?: unknown; raw?: string },
  ): Promise<Answer<T>>
  /** The correlation id of a request that must be accepted. */
  submit(kind: BulkRequest, body: unknown, key?: string): Promise<string>
  task(correlationId: string, key?: string): Promise<Task>
  /** The task, once it has ended. */
  finished(correlationId: string, key?: string): Promise<Task>
  /** Submits and waits for the end. */
  run(kind: BulkRequest, body: unknown, key?: string): Promise<Task>
  /** The one result file of a task. */
  file<T>(task: Task): Promise<T>
  pages(task: Task): Promise<Page[]>
  stop(): Promise<void>
  /** Starts again on the same database. */
  start(options?: Partial<SandboxOptions>): Promise<void>
  close(): Promise<void>
}

async function download(url: string | undefined): Promise<unknown> {
  if (url === undefined) throw new Error('the task names no file')
  const response = await fetch(url)
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
  return response.json()
}

const quick = { pendingMs: 0, scheduledMs: 0, jitter: 0 }

/** A sandbox of its own, on a database of its own. */
export async function openSandbox(options: Partial<SandboxOptions> = {}): Promise<OpenSandbox> {
  const database = await testDatabase({ template: 'empty' })
  const pool = new pg.Pool({ connectionString: database.url, max: 2 })
  pool.on('error', () => undefined)
  const begin = (extra: Partial<SandboxOptions> = {}) =>
    startSandbox({
      databaseUrl: database.url,
      contract,
      port: 0,
      seed,
      companies: 60,
      durations: {
        ...quick,
        processing: Object.fromEntries(
          Object.keys(contract.taskNames).map((kind) => [kind, { baseMs: 0, perItemUs: 0 }]),
        ),
      },
      ...options,
      ...extra,
    })
  let sandbox = await begin()
  const open: OpenSandbox = {
    get url() {
      return sandbox.url
    },
    pool,
    call: async <T>(
      method: string,
      path: string,
      { key = 'demo-key', body, raw }: { key?: string | null; body?: unknown; raw?: string } = {},
    ) => {
      const text = raw ?? (body === undefined ? undefined : JSON.stringify(body))
      const response = await fetch(`${sandbox.url}${path}`, {
        method,
        headers: {
          ...(key !== null && { authorization: key }),
          ...(text !== undefined && { 'content-type': 'application/json' }),
        },
        ...(text !== undefined && { body: text }),
      })
      return { status: response.status, body: (await response.json()) as T }
    },
    submit: async (kind, body, key = 'demo-key') => {
      const { method, path } = contract.endpoints[kind]
      const answer = await open.call<{ correlationId: string }>(method, path, { key, body })
      if (answer.status !== 200) throw new Error(`${kind} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
      return answer.body.correlationId
    },
    task: async (correlationId, key = 'demo-key') =>
      (await open.call<Task>('GET', `/api/v2/bulk/tasks/${correlationId}`, { key })).body,
    finished: (correlationId, key = 'demo-key') =>
      vi.waitFor(
        async () => {
          const task = await open.task(correlationId, key)
          if (!['Success', 'PartialSuccess', 'Error', 'Cancelled'].includes(task.status)) throw new Error(task.status)
          return task
        },
        { timeout: 20_000, interval: 10 },
      ),
    run: async (kind, body, key = 'demo-key') => open.finished(await open.submit(kind, body, key), key),
    file: async <T>(task: Task) => (await download(task.file?.url)) as T,
    pages: (task) => Promise.all((task.pageUrls ?? []).map(async (url) => (await download(url)) as Page)),
    stop: () => sandbox.close(),
    start: async (extra) => {
      sandbox = await begin(extra)
    },
    close: async () => {
      await sandbox.close()
      await pool.end()
      await database[Symbol.asyncDispose]()
    },
  }
  return open
}
