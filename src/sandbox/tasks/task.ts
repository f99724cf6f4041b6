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
