import type { RowOutcome } from '../../../db/ledger/settle-outcomes.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { Task } from '../../../exchange/task.ts'

/**
 * What a terminal task says about the rows that none of its errors names. Pure.
 *
 * Success: accepted, as far as can be inferred. PartialSuccess: the same, if it names any row at all; a partial
 * success that names none leaves open which rows failed. Error and Cancelled: nobody knows.
 * Specification: Rules of processing 5 and 6.
 */
export function unnamedRows({ taskStatuses }: Contract, task: Task): RowOutcome {
  const said = task.generalErrors.join('; ')
  if (task.status === taskStatuses.success) return { outcome: 'inferred' }
  if (task.status === taskStatuses.partialSuccess) {
    if (task.rowErrors.length > 0) return { outcome: 'inferred' }
    return {
      outcome: 'unknown',
      code: 'partial_without_rows',
      reason: said || 'the task succeeded in part and does not say which rows failed',
    }
  }
  return {
    outcome: 'unknown',
    code: `task_${task.status.toLowerCase()}`,
    reason: said || `the task ended as ${task.status} and does not name this row`,
  }
}
