/**
 * One line of the pull's benchmark in a process of its own, so that its memory and processor time are its own: started
 * by pull-scale.ts with what to do as one JSON argument, it prints what that took as one line of JSON.
 */

import PQueue from 'p-queue'
import type pg from 'pg'
import { request } from 'undici'
import { settings } from '../src/config/schema.ts'
import { createDatabase, createPool } from '../src/db/database.ts'
import { schemaName } from '../src/db/migrate-to-latest.ts'
import { loadContract } from '../src/exchange/contract.ts'
import { makeRoomForRows } from '../src/heap.ts'
import type { Deps } from '../src/pipeline/deps.ts'
import { loadPage } from '../src/pipeline/pull/load-page.ts'
import { finishSearch } from '../src/pipeline/pull/search/whole-search.ts'
import { openResult } from '../src/pipeline/reading/page-limits.ts'
import { copyRows, copyRowsOnTwo } from './copy-limit.ts'
import { memoryOf, processorOf } from './memory.ts'
import { loadAsPeopleDo } from './people-load.ts'

/**
 * `identity` and `gzip` take the bytes and throw them away; `download` does so with what Nightferry's download gives.
 */
export type Way = 'limit' | 'limitOnTwo' | 'nightferry' | 'tokens' | 'people' | 'identity' | 'gzip' | 'download'

export type LoadTask = {
  way: Way
  databaseUrl: string
  contractFile: string
  /** The ready rows, for the limit. */
  folder: string
  serviceUrl: string
  /** Of one search; all but Nightferry's ways take the first alone. */
  pages: { url: string; page_id: number; submission_id: number }[]
  /** Whether the search is ended, too. Nothing of that is counted but its seconds. */
  endsSearch: boolean
}

/** Seconds by the clock, of this process's processors, of its backends'; bytes resident at most; ending the search. */
export type Spent = {
  seconds: number
  processor: number
  server: number
  peak: number
  bytes: number
  endSeconds: number | null
}

// As every process that carries rows does.
makeRoomForRows()

const task = JSON.parse(process.argv[2] ?? '{}') as LoadTask
const [first = noPage()] = task.pages
const applicationName = 'nightferry bench'
const pool = createPool(task.databaseUrl, { max: 4, applicationName, searchPath: schemaName, onIdleError: () => {} })
const contract = loadContract(task.contractFile)
const config = settings.parse({})
const deps = { config, required: { baseUrl: task.serviceUrl, apiKey: 'demo-key' }, contract, pool } as Deps

// A daemon has its connections long before the first page.
await Promise.all([pool.query('select 1'), pool.query('select 1')])
const began = performance.now()
const before = process.cpuUsage()
const bytes = await load(task.way)
const used = process.cpuUsage(before)
const seconds = (performance.now() - began) / 1000
const peak = memoryOf(process.pid, 'VmHWM')
const server = await processorOfBackends()
const endSeconds = task.endsSearch ? await endSearch() : null
await pool.end()
const spent: Spent = { seconds, processor: (used.user + used.system) / 1e6, server, peak, bytes, endSeconds }
process.stdout.write(`${JSON.stringify(spent)}\n`)

async function load(way: Way): Promise<number> {
  switch (way) {
    case 'limit':
      return await withClient((client) => copyRows(client, task.folder))
    case 'limitOnTwo':
      await copyRowsOnTwo(pool, task.folder)
      return 0
    case 'people':
      return await withClient((client) => loadAsPeopleDo(client, first.url, contract))
    case 'nightferry':
    case 'tokens':
      return await loadWithNightferry(way)
    case 'identity':
    case 'gzip':
      return await discard((await request(first.url, { headers: { 'accept-encoding': way } })).body)
    case 'download':
      return await discard((await openResult(deps, first.url)).body)
  }
}

/** As look-at-page.ts does, for as many pages at once as a daemon takes. */
async function loadWithNightferry(way: 'nightferry' | 'tokens'): Promise<number> {
  const { maxDepth, maxElementSize, pagesAtOnce } = config.pull
  const limits = { maxDepth, maxElementSize, maxQuarantineRows: 1_000 }
  const reading = way === 'tokens' ? 'tokens' : 'split'
  const queue = new PQueue({ concurrency: pagesAtOnce })
  const loaded = await queue.addAll(
    task.pages.map((page) => async () => {
      const open = async () => {
        const { body } = await openResult(deps, page.url)
        return { body, close: () => void body.destroy() }
      }
      return (await loadPage(pool, page, open, { contract, limits, reading })).bytes
    }),
  )
  return loaded.reduce((sum, bytes) => sum + bytes, 0)
}

/** What follows when every page of a search is loaded: absence is judged, and what was seen is forgotten. */
async function endSearch(): Promise<number> {
  const start = performance.now()
  const db = createDatabase(pool)
  await db.transaction().execute((trx) => finishSearch(trx, first.submission_id))
  return (performance.now() - start) / 1000
}

async function withClient(work: (client: pg.PoolClient) => Promise<void>): Promise<number> {
  const client = await pool.connect()
  await work(client)
  client.release()
  return 0
}

function noPage(): never {
  throw new Error('there is no page to load')
}

async function discard(body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0
  for await (const chunk of body) bytes += chunk.byteLength
  return bytes
}

async function processorOfBackends(): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('select pid from pg_stat_activity where application_name = $1', [
    applicationName,
  ])
  return rows.reduce((sum, { pid }) => sum + processorOf(pid), 0)
}
