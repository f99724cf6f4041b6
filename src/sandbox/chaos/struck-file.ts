import type { Contract } from '../../exchange/contract.ts'
import type { Queryable } from '../running-sandbox.ts'
import { asBulkRequest } from '../tasks/sandbox-task.ts'

/** A result file as chaos sees it. */
export type StruckFile = {
  /** Under which it is judged: its task's place in the order of all tasks, and its place among the task's files. */
  occasion: string
  bytes: number
  /** The name of the list that the file holds. */
  list: string
  isCalculatorsPage: boolean
  /** The page beside it, of a search with several. */
  neighbour: string | null
}

/** The complete file behind a token, or null; also for a file that is no result, such as a report. */
export async function findStruckFile(db: Queryable, contract: Contract, token: string): Promise<StruckFile | null> {
  const { rows } = await db.query<{
    sequence: string
    request: string
    ordinal: number
    bytes: string
    neighbour: string | null
  }>(
    `select t.sequence, t.request, f.ordinal, f.bytes,
       (select beside.token from sandbox.file beside
        where beside.task_id = t.id and beside.ordinal = case f.ordinal when 0 then 1 else f.ordinal - 1 end)
          as neighbour
     from sandbox.file f join sandbox.task t on t.id = f.task_id
     where f.token = $1 and f.bytes is not null and f.ordinal >= 0 and t.finished_at is not null`,
    [token],
  )
  const row = rows[0]
  const list = row && listOf(contract, row.request)
  if (!row || list === undefined) return null
  return {
    occasion: `file ${row.sequence}/${row.ordinal}`,
    bytes: Number(row.bytes),
    list,
    isCalculatorsPage: row.request === 'calculatorsSearch',
    neighbour: row.neighbour,
  }
}

function listOf({ names }: Contract, request: string): string | undefined {
  switch (asBulkRequest(request)) {
    case 'companyMappings':
      return names.companyMappingsResult.companies
    case 'calculatorsUpsert':
      return names.calculatorsResult.companies
    case 'calculatorsSearch':
      return names.calculatorsPage.companies
    case 'companiesSearch':
      return names.companiesPage.companies
    case 'standardsSearch':
      return names.standardsPage.standards
    case 'standardHoldersSearch':
      return names.standardHoldersPage.holders
    case 'frameworkAnswersSearch':
      return names.frameworkAnswersPage.companies
    case 'frameworkAnswersUpsert':
    case 'companiesUpsert':
    case 'standardHoldersUpsert':
      return undefined
  }
}
