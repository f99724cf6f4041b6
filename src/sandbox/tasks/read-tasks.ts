import type { Contract } from '../../exchange/contract.ts'
import type { Queryable } from '../running-sandbox.ts'
import { asBulkRequest, isSearch, type TaskStatus } from './sandbox-task.ts'

/**
 * How many tasks the list shows. Spec gap: the number is not shown, docs/spec-gaps.md; a hundred spans some minutes of
 * a busy partner.
 */
const listedTasks = 100

type Row = {
  id: string
  request: string
  api_key_id: string
  status: TaskStatus
  created_at: Date
  general_errors: string[] | null
  row_errors: Record<string, unknown>[] | null
  tokens: string[] | null
}

/**
 * The newest tasks of the profile, without their results. By the time that they show: requests of two keys are stored
 * side by side, so the sequence may differ from it by a moment.
 */
export async function listTasks(db: Queryable, contract: Contract, profileId: number): Promise<unknown[]> {
  const { rows } = await db.query<Row>(
    `select id, request, api_key_id, status, created_at from sandbox.task
     where profile_id = $1 order by created_at desc, sequence desc limit ${listedTasks}`,
    [profileId],
  )
  return rows.map((row) => describe(contract, row))
}

/** One task of the profile with its result and errors, or null. `fileUrl` makes the address of a result file. */
export async function readTask(
  db: Queryable,
  contract: Contract,
  wanted: { id: string; profileId: number; fileUrl: (token: string) => string },
): Promise<unknown> {
  const { rows } = await db.query<Row>(
    `select id, request, api_key_id, status, created_at, general_errors, row_errors,
       (select array_agg(token order by ordinal) from sandbox.file where task_id = task.id and ordinal >= 0) as tokens
     from sandbox.task where id = $1 and profile_id = $2`,
    [wanted.id, wanted.profileId],
  )
  const row = rows[0]
  if (!row) return null
  return { ...describe(contract, row), ...describeResult(contract, row, wanted.fileUrl) }
}

function describe(contract: Contract, row: Row): Record<string, unknown> {
  const names = contract.names.task
  const taskNames = contract.taskNames[asBulkRequest(row.request)]
  return {
    [names.correlationId]: row.id,
    [names.status]: contract.taskStatuses[row.status],
    [names.requestType]: taskNames.requestType === '' ? null : taskNames.requestType,
    [names.taskKind]: taskNames.kind,
    [names.createdAt]: row.created_at.toISOString(),
    [names.apiKeyId]: row.api_key_id,
  }
}

function describeResult(contract: Contract, row: Row, fileUrl: (token: string) => string): Record<string, unknown> {
  const names = contract.names.task
  const result: Record<string, unknown> = {}
  const finished = row.status === 'success' || row.status === 'partialSuccess' || row.status === 'error'
  const urls = (row.tokens ?? []).map(fileUrl)
  if (finished && isSearch(asBulkRequest(row.request))) result[names.pageUrls] = urls
  else if (finished && urls[0] !== undefined) result[names.file] = { [names.fileUrl]: urls[0] }
  if (row.general_errors || row.row_errors) {
    result[names.error] = {
      [names.generalErrorMessages]: row.general_errors ?? [],
      [names.rowErrors]: row.row_errors ?? [],
    }
  }
  return result
}
