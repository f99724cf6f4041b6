import { discardFiles } from '../files/write-file.ts'
import { readBulkRequest } from '../requests/read-bulk-request.ts'
import { parseBody } from '../requests/read-json.ts'
import type { Sandbox } from '../sandbox.ts'
import type { Outcome, StartedTask } from '../tasks/task.ts'
import { processAnswers } from './process-answers.ts'
import { processCalculators } from './process-calculators.ts'
import { processCompanies } from './process-companies.ts'
import { processMappings } from './process-mappings.ts'
import { processSearch } from './process-search.ts'
import { processStandardHolders } from './process-standard-holders.ts'
import type { Work } from './work.ts'

/** Does what a queued request asks for. Repeatable: what it stores are upserts, and files of an earlier attempt go. */
export async function processTask(sandbox: Sandbox, task: StartedTask, signal: AbortSignal): Promise<Outcome> {
  await discardFiles(sandbox.pool, task.id)
  const { rows } = await sandbox.pool.query<{ body: Buffer }>('select body from sandbox.task_body where task_id = $1', [
    task.id,
  ])
  const stored = rows[0]
  if (!stored) throw new TypeError(`the body of task ${task.id} is not in sandbox.task_body`)
  const request = readBulkRequest(sandbox.contract, task.request, parseBody(stored.body))
  const work: Work = { sandbox, taskId: task.id, profileId: task.profileId, signal }
  switch (request.kind) {
    case 'companyMappings':
      return processMappings(work, request.body)
    case 'frameworkAnswersUpsert':
      return processAnswers(work, request.body)
    case 'calculatorsUpsert':
      return processCalculators(work, request.body)
    case 'companiesUpsert':
      return processCompanies(work, request.body)
    case 'standardHoldersUpsert':
      return processStandardHolders(work, request.body)
    case 'calculatorsSearch':
      return processSearch(work, request.body)
  }
}
