import { createReadStream } from 'node:fs'
import type { Config } from '../../config/schema.ts'
import type { ExchangeClient } from '../../exchange/client.ts'
import type { BulkRequest, Contract } from '../../exchange/contract.ts'
import { DownloadFailed, HttpError, proxyDeniedCode } from '../../exchange/errors.ts'
import type { Task } from '../../exchange/task.ts'
import { openResult } from '../../pipeline/reading/page-limits.ts'
import { readLists } from '../../pipeline/reading/read-page.ts'
import { pollInMs } from '../../pipeline/when-to-look.ts'
import { keepPage } from './mirror-parts.ts'

/** Attempts at a search and at one page, and the wait after the first that failed; it doubles. */
const attempts = 4
const firstWaitMs = 500

type Wanted<K> = {
  search: MirrorSearch
  body: object
  lists: ReadonlyMap<string, K>
  required: string
  /** Where a page lies while it is read. */
  folder: string
}

/** A search that says nothing: why, in words for a person. */
type Refused = { refused: string }

/**
 * Sends a search, waits for its task as a run does, and gives each element of its pages to `take`.
 * @returns why the service does not answer it, where it refuses the search or its task ends in an error; a deployment
 *   may lack it.
 * @throws {MirrorFailed} when the task does not end in time, or a page cannot be had; errors of transport; the
 *   signal's reason.
 */
export async function runSearch<K>(
  deps: MirrorDeps,
  wanted: Wanted<K>,
  take: (kind: K, element: unknown) => Promise<void>,
): Promise<Refused | { elements: number }> {
  const submitted = await submit(deps, wanted)
  if ('refused' in submitted) return submitted
  const task = await taskEnd(deps, wanted.search, submitted.correlationId)
  const { success, partialSuccess } = deps.contract.taskStatuses
  if (task.status !== success && task.status !== partialSuccess) {
    return { refused: `its task ended in ${task.status}${task.generalErrors.map((error) => `: ${error}`).join('')}` }
  }
  let elements = 0
  for (let page = 0; page < task.pageUrls.length; page += 1) {
    const file = await fetchPage(deps, wanted, task, page)
    const { maxDepth, maxElementSize } = deps.config.pull
    const limits = { maxDepth, maxElementSize }
    for await (const { kind, value } of readLists(createReadStream(file), { ...wanted, limits })) {
      deps.signal.throwIfAborted()
      await take(kind, value)
      elements += 1
    }
    deps.tell(`${wanted.search}: page ${page + 1} of ${task.pageUrls.length}`)
  }
  return { elements }
}

/** A search may be sent again whatever became of the one before: it changes nothing. */
async function submit<K>(deps: MirrorDeps, { search, body }: Wanted<K>): Promise<Refused | { correlationId: string }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await deps.service.search(search, body).catch(ifRefused)
    } catch (error) {
      const lasting = error instanceof HttpError && error.status === 401
      if (deps.signal.aborted || lasting || attempt === attempts) throw error
      const asked = error instanceof HttpError ? error.retryAfterMs : null
      await deps.wait(asked ?? firstWaitMs * 2 ** (attempt - 1))
    }
  }
}

function ifRefused(error: unknown): Refused {
  const lasting = error instanceof HttpError && error.status >= 400 && error.status < 500 && error.status !== 401
  if (!lasting || error.status === 429) throw error
  return { refused: `the service answered ${error.status}${error.errorCode === null ? '' : ` (${error.errorCode})`}` }
}

async function taskEnd(deps: MirrorDeps, search: string, correlationId: string): Promise<Task> {
  const { pollIntervalMs, taskPatienceMs } = deps.config.exchange
  const giveUpAt = performance.now() + taskPatienceMs
  for (let polls = 0; ; polls += 1) {
    await deps.wait(pollInMs(pollIntervalMs, polls))
    const task = await deps.service.getTask(correlationId)
    if (task.phase === 'terminal') return task
    if (performance.now() > giveUpAt) {
      const limit = `exchange.taskPatienceMs (${taskPatienceMs} ms)`
      throw new MirrorFailed(
        `The task ${correlationId} of ${search} has not ended within ${limit}. Try again later, or raise it.`,
      )
    }
  }
}

/** Fetches a page whole, and again with a fresh address where one has expired. @returns the file. */
async function fetchPage<K>(
  deps: MirrorDeps,
  { search, folder }: Wanted<K>,
  task: Task,
  page: number,
): Promise<string> {
  let url = task.pageUrls[page] ?? ''
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { baseUrl, apiKey } = deps
      const { body } = await openResult({ config: deps.config, required: { baseUrl, apiKey } }, url, deps.signal)
      return await keepPage(folder, body)
    } catch (error) {
      if (!(error instanceof DownloadFailed) || error.code === proxyDeniedCode) throw error
      if (attempt === attempts) {
        const message = `Page ${page + 1} of ${search} could not be had in ${attempts} attempts: ${error.message}. Nothing was written; try again later.`
        throw new MirrorFailed(message, { cause: error })
      }
      await deps.wait(error.retryAfterMs ?? firstWaitMs * 2 ** (attempt - 1))
      if (error.renewable) url = (await deps.service.getTask(task.correlationId)).pageUrls[page] ?? url
    }
  }
}

/** The bulk requests that change nothing at the service. */
const mirrorSearches = [
  'companiesSearch',
  'standardsSearch',
  'standardHoldersSearch',
  'frameworkAnswersSearch',
  'calculatorsSearch',
] as const satisfies readonly BulkRequest[]
export type MirrorSearch = (typeof mirrorSearches)[number]

/** What a mirror may call of a service: what is read with GET, and searches. Nothing else can be spelt. */
type ReadableService = Pick<
  ExchangeClient,
  'getUnitTypes' | 'getFrameworks' | 'getFramework' | 'getGroups' | 'getCustomProperties' | 'getTask'
> & {
  search(search: MirrorSearch, body: object): Promise<{ correlationId: string }>
}

/**
 * A client of which nothing is left that could change anything.
 * @throws {TypeError} for a request that is no search.
 */
export function readableService(client: ExchangeClient): ReadableService {
  return {
    getUnitTypes: (...given) => client.getUnitTypes(...given),
    getFrameworks: (...given) => client.getFrameworks(...given),
    getFramework: (...given) => client.getFramework(...given),
    getGroups: (...given) => client.getGroups(...given),
    getCustomProperties: (...given) => client.getCustomProperties(...given),
    getTask: (...given) => client.getTask(...given),
    search: async (search, body) => {
      if (!mirrorSearches.includes(search)) throw new TypeError(`${search} is no search`)
      return await client.submit(search, JSON.stringify(body))
    },
  }
}

/** What a mirror works with. */
export type MirrorDeps = {
  service: ReadableService
  contract: Contract
  config: Pick<Config, 'exchange' | 'pull'>
  /** The address of the deployment and its key: for result files, which need neither where they are signed. */
  baseUrl: string
  apiKey: string
  /** Ends everything; nothing is left behind. */
  signal: AbortSignal
  now: () => Date
  wait: (ms: number) => Promise<unknown>
  /** Told, in a sentence for a person, how far the mirror has got. */
  tell: (sentence: string) => void
}

/** The deployment did not let itself be mirrored. `code` is stable. */
class MirrorFailed extends Error {
  readonly code = 'mirror_failed'
}
