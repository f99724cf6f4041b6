import pg from 'pg'
import { makeRoomForRows } from '../../heap.ts'
import { failOverPoison } from '../chaos/row-chaos.ts'
import { copyOutBytes } from '../copy-rows.ts'
import { discardFiles } from '../files/write-file.ts'
import { type ReadRequest, readStoredRequest } from '../requests/read-bulk-request.ts'
import type { Sandbox } from '../running-sandbox.ts'
import type { Outcome, StartedTask } from '../tasks/sandbox-task.ts'
import { processAnswers } from './process-answers.ts'
import { processCalculators } from './process-calculators.ts'
import { processCompanies } from './process-companies.ts'
import { processMappings } from './process-mappings.ts'
import { processSearch } from './process-search.ts'
import { processStandardHolders } from './process-standard-holders.ts'
import { type RowRecorder, recordRows } from './record-rows.ts'
import type { Work } from './work.ts'

/** Does what a queued request asks for. Repeatable: what it stores are upserts, and files of an earlier attempt go. */
export async function processTask(sandbox: Sandbox, task: StartedTask, signal: AbortSignal): Promise<Outcome> {
  makeRoomForRows()
  await discardFiles(sandbox.pool, task.id)
  const request = await storedRequest(sandbox, task)
  const poisoned = await failOverPoison(sandbox, task, request)
  if (poisoned) return poisoned
  const work: Work = { sandbox, taskId: task.id, profileId: task.profileId, signal }
  switch (request.kind) {
    case 'companyMappings':
      return processMappings(work, request.body)
    case 'calculatorsUpsert':
      return processCalculators(work, request.body)
    case 'frameworkAnswersUpsert':
    case 'companiesUpsert':
    case 'standardHoldersUpsert':
    case 'consolidatedUpsert':
      return processRows(work, request)
    default:
      return processSearch(work, request)
  }
}

async function storedRequest({ pool, contract }: Sandbox, { id, request }: StartedTask): Promise<ReadRequest> {
  const { rows } = await pool.query<{ path: string }>('select path from sandbox.task where id = $1', [id])
  const [body] = await copyOutBytes(
    pool,
    `select body from sandbox.task_body where task_id = ${pg.escapeLiteral(id)}::uuid`,
  )
  if (rows[0] === undefined || body === undefined) throw new TypeError(`task ${id} is not stored with its body`)
  return readStoredRequest(contract, { request, path: rows[0].path }, body)
}

type RowRequest = Extract<
  ReadRequest,
  { kind: 'frameworkAnswersUpsert' | 'companiesUpsert' | 'standardHoldersUpsert' | 'consolidatedUpsert' }
>

/** Imports without a result file, whose rows have an outcome each. */
async function processRows(work: Work, request: RowRequest): Promise<Outcome> {
  const recorder = await recordRows(work)
  await storeRequest(work, request, recorder)
  return recorder.end()
}

async function storeRequest(work: Work, request: RowRequest, recorder: RowRecorder): Promise<void> {
  switch (request.kind) {
    case 'frameworkAnswersUpsert':
      return processAnswers(work, request.body, recorder)
    case 'companiesUpsert':
      return processCompanies(work, request.body, recorder)
    case 'standardHoldersUpsert':
      return processStandardHolders(work, request.body, recorder)
    case 'consolidatedUpsert':
      await processCompanies(work, request.body, recorder)
      return processStandardHolders(work, request.body, recorder)
  }
}
