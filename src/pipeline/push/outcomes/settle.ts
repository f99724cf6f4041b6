import { outcomesFromResultFile } from '../../../db/ledger/file-outcomes.ts'
import type { RowOutcome } from '../../../db/ledger/settle-outcomes.ts'
import { type NewMappings, storeMappings } from '../../../db/ledger/store-mappings.ts'
import type { Submission } from '../../../db/tables/submission-tables.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { decodeTask, type Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { searchKinds } from '../../streams/kind-names.ts'
import { kindOf } from '../kinds.ts'
import { callSucceeded, isUnreadable } from '../move-submission.ts'
import { generalWords, unnamedRows } from './judge-error.ts'
import { obtainResultFile } from './obtain-result-file.ts'
import { fromErrors, settleAs } from './settle-as.ts'
import { namesNoRow, saysNothing, settleBareError } from './settle-bare-error.ts'

/**
 * Settles a terminal submission: outcomes, hashes, releases and the look at the run that plans what was released,
 * in one transaction. Specification: Rules of processing 5 and 6.
 */
export async function settle(deps: Deps, submissionId: number): Promise<void> {
  const submission = await deps.db
    .selectFrom('submission')
    .selectAll()
    .where('submission_id', '=', submissionId)
    .executeTakeFirstOrThrow()
  if (submission.refusal !== null) {
    await settleBareError(deps, submission, { refusal: submission.refusal })
    return
  }
  const task = decodeTask(deps.contract, submission.task)
  if (searchKinds.includes(submission.kind)) {
    await settleAs(deps, submission, async (trx) => {
      await deps.endSearch(deps, trx, submission, task)
      return noRows
    })
    return
  }
  const isBare = saysNothing(deps.contract, submission, task) || isUnreadable(deps.contract, submission, task)
  if (isBare || (await namesNoRow(deps, submission, task))) {
    await settleBareError(deps, submission, { task })
    return
  }
  if (kindOf(deps.contract, submission.kind).outcomes === 'error_rows') {
    await settleAs(deps, submission, (trx) => fromErrors(deps, trx, submission, task, unnamedRows(deps.contract, task)))
    return
  }
  if (task.fileUrl === null) {
    const unnamed = { outcome: 'unknown' as const, ...missingFile(deps.contract, task) }
    await settleAs(deps, submission, (trx) => fromErrors(deps, trx, submission, task, unnamed))
    return
  }
  if (await obtainResultFile(deps, submission, task, task.fileUrl)) {
    const mapping = submission.kind === 'company_mappings'
    await settleAs(
      deps,
      submission,
      async (trx) => {
        const { rest, elsewhere } = await outcomesFromResultFile(trx, submissionId, { mapping })
        // What an error row says beside the file counts as well: of the two, the rejection, which may have been taken.
        await fromErrors(deps, trx, submission, task, rest, elsewhere)
        if (mapping) tellMappings(deps, submission, await storeMappings(trx, submissionId))
        await trx.deleteFrom('staged_outcome').where('submission_id', '=', submissionId).execute()
        await trx.updateTable('submission').set(callSucceeded).where('submission_id', '=', submissionId).execute()
        return rest
      },
      mapping,
    )
  }
}

/** Of a search, which carries none. */
const noRows: RowOutcome = { outcome: 'inferred' }

function tellMappings({ logger }: Deps, { run_id, submission_id }: Submission, { moved, shared }: NewMappings): void {
  for (const mapping of moved) logger.warn({ run_id, submission_id, ...mapping }, 'mapping_moved')
  for (const company of shared) logger.warn({ run_id, submission_id, ...company }, 'company_shared')
}

function missingFile({ taskStatuses }: Contract, task: Task): { code: string; reason: string } {
  const said = generalWords(task)
  const failed = task.status === taskStatuses.error || task.status === taskStatuses.cancelled
  return failed
    ? {
        code: `task_${task.status.toLowerCase()}`,
        reason: said || `the task ended as ${task.status} without a result file`,
      }
    : { code: 'result_file_missing', reason: `the task ended as ${task.status} and names no result file` }
}
