import { type BulkRequest, bulkRequests } from '../../exchange/contract.ts'

/** The contract's keys of the statuses; what they are called on the wire is the contract's matter. */
export type TaskStatus = 'pending' | 'scheduled' | 'inProgress' | 'success' | 'partialSuccess' | 'error' | 'cancelled'

/** A task that a worker took up, or takes up again after a restart. */
export type StartedTask = {
  id: string
  sequence: number
  profileId: number
  request: BulkRequest
  items: number
  startedAt: number
}

/** The place of a task's report among its files; its result files are numbered from 0. */
export const reportOrdinal = -1

/** What became of a request. Failed items are told by `rowErrors` or, for requests with a result file, in the file. */
export type Outcome = {
  accepted: number
  failed: number
  rowErrors: Record<string, unknown>[]
  generalErrors: string[]
}

/** Success: nothing failed. PartialSuccess: some items failed. Error: items failed and none was accepted. */
export function terminalStatus(outcome: Pick<Outcome, 'accepted' | 'failed'>): 'success' | 'partialSuccess' | 'error' {
  if (outcome.failed === 0) return 'success'
  return outcome.accepted === 0 ? 'error' : 'partialSuccess'
}

export function asBulkRequest(text: string): BulkRequest {
  const known = bulkRequests.find((request) => request === text)
  if (!known) throw new Error(`a task of the unknown kind "${text}" is in sandbox.task`)
  return known
}

/** Whether the request's result is a list of pages. */
export function isSearch(request: BulkRequest): boolean {
  switch (request) {
    case 'calculatorsSearch':
    case 'companiesSearch':
    case 'standardsSearch':
    case 'standardHoldersSearch':
    case 'frameworkAnswersSearch':
      return true
    case 'companyMappings':
    case 'frameworkAnswersUpsert':
    case 'calculatorsUpsert':
    case 'companiesUpsert':
    case 'standardHoldersUpsert':
      return false
  }
}
