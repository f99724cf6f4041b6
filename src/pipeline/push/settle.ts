import type { Transaction } from 'kysely'
import {
  applyOutcomes,
  type NamedError,
  outcomesFromErrors,
  outcomesFromResultFile,
  sameOutcome,
  storeMappings,
} from '../../db/ledger/settle-outcomes.ts'
import { storableText } from '../../db/storable.ts'
import type { Schema } from '../../db/tables/schema.ts'
import type { Submission } from '../../db/tables/submission.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { HttpError } from '../../exchange/errors.ts'
import { monthNumber } from '../../exchange/month-names.ts'
import type { RowError } from '../../exchange/row-error.ts'
import { decodeTask, type Task } from '../../exchange/task.ts'
import type { Deps } from '../deps.ts'
import { listPages } from '../pull/list-pages.ts'
import { callFailed } from './call-failed.ts'
import { kindOf, searchKind } from './kinds.ts'
import { learnSize, verdictOfRefusal, verdictOfTask } from './learn-size.ts'
import { moveSubmission } from './move-submission.ts'
import { stageResultFile } from './stage-result-file.ts'
import { unnamedRows } from './unnamed-rows.ts'

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
  const task = decodeTask(deps.contract, submission.task)
  if (submission.kind === searchKind) {
    await settleAs(deps, submission, (trx) => listPages(deps, trx, submission, task))
    return
  }
  if (kindOf(deps.contract, submission.kind).outcomes === 'error_rows') {
    await settleAs(deps, submission, (trx) => fromErrors(deps.contract, trx, submission, task))
    return
  }
  if (task.fileUrl === null) {
    const { code, reason } = missingFile(deps.contract, task)
    await settleAs(deps, submission, (trx) => sameOutcome(trx, submissionId, 'unknown', code, reason))
    return
  }
  if (await staged(deps, submission, task.fileUrl)) {
    await settleAs(deps, submission, async (trx) => {
      await outcomesFromResultFile(trx, submissionId)
      if (submission.kind === 'company_mappings') await storeMappings(trx, submissionId)
      await trx.deleteFrom('staged_outcome').where('submission_id', '=', submissionId).execute()
    })
  }
}

/** The service refused the request as a whole; its rows may be sent again by the next run. */
export async function settleRefused(deps: Deps, submission: Submission, error: HttpError): Promise<void> {
  const code = storableText(error.errorCode ?? String(error.status))
  const reason = storableText(error.serviceMessage ?? error.message)
  await deps.db.transaction().execute(async (trx) => {
    const told = { error_code: code, error_message: storableText(error.message), settled_at: deps.now() }
    const patch = { ...told, too_large: verdictOfRefusal(error) === 'too_large' }
    const moved = await moveSubmission(trx, submission.submission_id, 'refused', patch)
    if (moved === null) return
    await sameOutcome(trx, submission.submission_id, 'rejected', code, reason)
    await applyOutcomes(trx, submission.submission_id, false)
    await deps.looks.atRun(trx, moved.runId)
    await learnSize(deps, trx, submission, verdictOfRefusal(error))
  })
  deps.logger.warn({ run_id: submission.run_id, submission_id: submission.submission_id, code }, 'submission_refused')
}

/** The service no longer knows the task: nobody can say what became of its rows. The next run sends them again. */
export async function settleLost(deps: Deps, submission: Submission, error: HttpError): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const patch = { error_code: 'task_lost', error_message: storableText(error.message), settled_at: deps.now() }
    const moved = await moveSubmission(trx, submission.submission_id, 'task_unknown', patch)
    if (moved === null) return
    await sameOutcome(trx, submission.submission_id, 'unknown', 'task_lost', 'the service no longer knows the task')
    await applyOutcomes(trx, submission.submission_id, false)
    await deps.looks.atRun(trx, moved.runId)
  })
  deps.logger.warn({ run_id: submission.run_id, submission_id: submission.submission_id }, 'submission_lost')
}

async function settleAs(
  deps: Deps,
  submission: Submission,
  decide: (trx: Transaction<Schema>) => Promise<unknown>,
): Promise<void> {
  const id = submission.submission_id
  await deps.db.transaction().execute(async (trx) => {
    const moved = await moveSubmission(trx, id, 'settled', { settled_at: deps.now() })
    if (moved === null) return
    await decide(trx)
    await applyOutcomes(trx, id, true)
    await deps.looks.atRun(trx, moved.runId)
    await learnSize(deps, trx, submission, verdictOfTask(deps.contract, decodeTask(deps.contract, submission.task)))
  })
  deps.logger.info(
    { run_id: submission.run_id, submission_id: id, correlation_id: submission.correlation_id },
    'submission_settled',
  )
}

async function fromErrors(
  contract: Contract,
  trx: Transaction<Schema>,
  submission: Submission,
  task: Task,
): Promise<void> {
  const errors = task.rowErrors.map(namedError)
  const unmatched = await outcomesFromErrors(trx, submission.submission_id, errors, unnamedRows(contract, task))
  if (unmatched.length === 0) return
  await trx
    .updateTable('submission')
    .set({ unmatched: JSON.stringify(unmatched) })
    .where('submission_id', '=', submission.submission_id)
    .execute()
}

function namedError(error: RowError): NamedError {
  return {
    company_id: error.companyId,
    partner_id: error.identifiedByValue,
    data_point_id: error.dataPointId,
    question_id: error.questionId,
    period_type: error.periodType,
    year: error.year,
    month: error.month === null ? null : (monthNumber(error.month) ?? null),
    code: error.reason,
    reason: error.message ?? error.reason,
  }
}

function missingFile({ taskStatuses }: Contract, task: Task): { code: string; reason: string } {
  const said = task.generalErrors.join('; ')
  const failed = task.status === taskStatuses.error || task.status === taskStatuses.cancelled
  return failed
    ? {
        code: `task_${task.status.toLowerCase()}`,
        reason: said || `the task ended as ${task.status} without a result file`,
      }
    : { code: 'result_file_missing', reason: `the task ended as ${task.status} and names no result file` }
}

async function staged(deps: Deps, submission: Submission, fileUrl: string): Promise<boolean> {
  try {
    await stageResultFile(deps, submission, await currentUrl(deps, submission, fileUrl))
    return true
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    const lost = code === 'exchange_not_found' || staysMalformed(submission, code)
    if (lost) {
      const reason = storableText(`the result file cannot be had: ${message}`)
      await settleAs(deps, submission, (trx) =>
        sameOutcome(trx, submission.submission_id, 'unknown', 'result_file_lost', reason),
      )
      return false
    }
    if (code === undefined || !downloadCodes.has(code)) throw error
    await callFailed(deps, submission, { code, message })
    return false
  }
}

const downloadCodes = new Set([
  'download_failed',
  'download_refused',
  'result_file_malformed',
  'exchange_unreachable',
  'exchange_failed',
])

/** A file that is no JSON so often in a row will not become any; a single time it may have been cut short on the way. */
const malformedBeforeLost = 3

function staysMalformed(submission: Submission, code: string | undefined): boolean {
  return (
    code === 'result_file_malformed' && submission.error_code === code && submission.failures + 1 >= malformedBeforeLost
  )
}

/** A URL may expire; after a failed download the task is read again for a fresh one. */
async function currentUrl(deps: Deps, submission: Submission, stored: string): Promise<string> {
  if (submission.failures === 0 || submission.correlation_id === null) return stored
  return (await deps.exchange.getTask(submission.correlation_id)).fileUrl ?? stored
}
