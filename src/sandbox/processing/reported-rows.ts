import { Readable } from 'node:stream'
import type pg from 'pg'
import { chain } from 'stream-chain'
import { pick } from 'stream-json/filters/pick.js'
import { streamArray } from 'stream-json/streamers/stream-array.js'
import type { BulkRequest, Contract } from '../../exchange/contract.ts'
import { readFile } from '../files/read-file.ts'
import type { Queryable } from '../running-sandbox.ts'
import { readPublished } from './publish-results.ts'

type Finished = { id: string; request: BulkRequest; result: string }
type Entry = Record<string, unknown>

/** Entries of a result file that are in memory at once. */
const entriesAtOnce = 200

/**
 * The rows of the report of a request with a result file, some at a time, as JSON text in the sandbox's own names.
 * `result` is the token of that file.
 */
export async function* reportRowsOf(pool: pg.Pool, contract: Contract, task: Finished): AsyncGenerator<string[]> {
  const mapping = task.request === 'companyMappings'
  const array = mapping ? contract.names.companyMappingsResult.companies : contract.names.calculatorsResult.companies
  for await (const entries of readEntries(pool, task.result, array)) {
    const rows = mapping
      ? entries.map((entry) => mappingRow(contract, entry))
      : await calculatorRows(pool, contract, task.id, entries)
    yield rows.map((row) => JSON.stringify(row))
  }
}

async function* readEntries(pool: pg.Pool, token: string, array: string): AsyncGenerator<Entry[]> {
  const elements = chain([
    Readable.from(readFile(pool, token)),
    pick.withParser({ filter: array }),
    streamArray<Entry>(),
  ])
  let entries: Entry[] = []
  for await (const element of elements) {
    entries.push(element.value)
    if (entries.length < entriesAtOnce) continue
    yield entries
    entries = []
  }
  yield entries
}

function mappingRow(contract: Contract, entry: Entry): Record<string, unknown> {
  const names = contract.names.companyMappingsResult
  return {
    outcome: entry[names.status] === names.mapped ? 'accepted' : 'failed',
    identifier: entry[names.id],
    companyId: entry[names.companyId],
    reason: entry[names.reason],
  }
}

async function calculatorRows(
  db: Queryable,
  contract: Contract,
  taskId: string,
  entries: readonly Entry[],
): Promise<Record<string, unknown>[]> {
  const names = contract.names.calculatorsResult
  const companyIds = entries.map((entry) => entry[names.companyId]).filter((id) => typeof id === 'string')
  const published = await readPublished(db, taskId, companyIds)
  return entries.map((entry) => {
    const companyId = entry[names.companyId]
    const errors = Array.isArray(entry[names.errors]) ? (entry[names.errors] as Entry[]) : undefined
    return {
      outcome: entry[names.status] === names.success ? 'accepted' : 'failed',
      identifier: entry[names.identifier],
      companyId,
      publishedCalculatorIds: typeof companyId === 'string' ? published.get(companyId) : undefined,
      errors: errors?.map((error) => ({ fieldTypeId: error[names.fieldTypeId], reason: error[names.reason] })),
    }
  })
}
