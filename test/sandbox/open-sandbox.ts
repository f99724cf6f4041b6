import { join } from 'node:path'
import type pg from 'pg'
import { vi } from 'vitest'
import { type BulkRequest, bulkRequests, type Contract, loadContract } from '../../src/exchange/contract.ts'
import { type SandboxOptions, startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { canaryKeys } from '../helpers/canaries.ts'
import { inspectedLogger } from '../helpers/leaks.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { testPool } from '../helpers/test-pool.ts'
import type { ErrorBody, Page, Task } from './documents.ts'
import { type Descriptions, readDescriptions } from './read-description.ts'

export const contract: Contract = loadContract(join(import.meta.dirname, '../../config/contract.yaml'))

export const seed = 7

export type Answer<T> = { status: number; body: T }

export type OpenSandbox = {
  readonly url: string
  /** Where result files are. */
  readonly filesUrl: string
  readonly pool: pg.Pool
  /** `T` is what the test expects; `key` null sends none. Fails when the answer is not as the service describes it. */
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
  /** What the sandbox describes of itself. */
  descriptions(): Promise<Descriptions>
  /** The one result file of a task. It is checked against the description, as pages are. */
  file<T>(task: Task): Promise<T>
  pages(task: Task): Promise<Page[]>
  stop(): Promise<void>
  /** Starts again on the same database. */
  start(options?: Partial<SandboxOptions>): Promise<void>
  close(): Promise<void>
}

async function download(open: OpenSandbox, task: Task, url: string | undefined): Promise<unknown> {
  if (url === undefined) throw new Error('the task names no file')
  const response = await fetch(url)
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
  const document: unknown = await response.json()
  const descriptions = await open.descriptions()
  descriptions.checkFile(contract.endpoints[kindOf(task)].path, url, document)
  return document
}

function kindOf(task: Task): BulkRequest {
  const kind = bulkRequests.find((request) => {
    const names = contract.taskNames[request]
    return names.kind === task.taskKind && names.requestType === (task.requestType ?? '')
  })
  if (!kind) throw new Error(`${task.taskKind} ${task.requestType} is no kind of request`)
  return kind
}

/** An answer that has no body has none to parse. */
async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text()
  return text === '' ? undefined : JSON.parse(text)
}

const quick = { pendingMs: 0, scheduledMs: 0, jitter: 0 }

/** A sandbox of its own, on a database of its own. */
export async function openSandbox(options: Partial<SandboxOptions> = {}): Promise<OpenSandbox> {
  const database = await testDatabase({ template: 'empty' })
  const pool = testPool(database.url, 2)
  const begin = (extra: Partial<SandboxOptions> = {}) =>
    startSandbox({
      databaseUrl: database.url,
      contract,
      port: 0,
      seed,
      apiKeys: canaryKeys,
      logger: inspectedLogger(),
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
  let described: Promise<Descriptions> | undefined
  // Trouble that was asked for is not described.
  let trouble = options.chaos !== undefined
  const open: OpenSandbox = {
    get url() {
      return sandbox.url
    },
    get filesUrl() {
      return sandbox.filesUrl
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
      const answer = { status: response.status, body: await bodyOf(response) }
      if (method === 'PUT' && path === '/sandbox/chaos') trouble = true
      if (!trouble) {
        const contentType = response.headers.get('content-type')
        const descriptions = await open.descriptions()
        descriptions.checkAnswer({ method, path, contentType, ...answer })
      }
      return { status: answer.status, body: answer.body as T }
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
        { timeout: 60_000, interval: 10 },
      ),
    run: async (kind, body, key = 'demo-key') => open.finished(await open.submit(kind, body, key), key),
    descriptions: () => {
      described ??= readDescriptions(
        `${sandbox.url}${contract.otherEndpoints.description.path}`,
        `${sandbox.url}/sandbox/openapi.json`,
      )
      return described
    },
    file: async <T>(task: Task) => (await download(open, task, task.file?.url)) as T,
    pages: (task) => Promise.all((task.pageUrls ?? []).map(async (url) => (await download(open, task, url)) as Page)),
    stop: () => sandbox.close(),
    start: async (extra) => {
      sandbox = await begin(extra)
      described = undefined
      trouble = (extra?.chaos ?? options.chaos) !== undefined
    },
    close: async () => {
      await sandbox.close()
      await pool.end()
      await database[Symbol.asyncDispose]()
    },
  }
  return open
}
