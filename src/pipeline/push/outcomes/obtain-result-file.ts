import { storableText } from '../../../db/copy-text.ts'
import type { Submission } from '../../../db/tables/submission-tables.ts'
import { proxyDeniedCode, saysUnknown } from '../../../exchange/errors.ts'
import type { Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { callDenied, callFailed, failsAlone, judgeFileTrouble, lostFileCode } from '../move-submission.ts'
import { fromErrors, settleAs } from './settle-as.ts'
import { isBareWithoutFile, settleBareError } from './settle-bare-error.ts'
import { stageResultFile } from './stage-result-file.ts'

/** Stages the result file. @returns false when it cannot be had now, or any more: then the submission was settled. */
export async function obtainResultFile(
  deps: Deps,
  submission: Submission,
  task: Task,
  fileUrl: string,
): Promise<boolean> {
  try {
    await stageResultFile(deps, submission, await currentUrl(deps, submission, fileUrl))
    return true
  } catch (error) {
    if (saysUnknown(error)) {
      if (await callDenied(deps, submission, error)) await settleWithoutFile(deps, submission, task, error.message)
      return false
    }
    const trouble = judgeFileTrouble(deps, submission, error)
    if (trouble?.over === true) {
      await settleWithoutFile(deps, submission, task, trouble.message)
      return false
    }
    const { code } = error as { code?: string }
    if (trouble === null && (code === undefined || !serviceCodes.has(code))) throw error
    if (trouble === null && (await failsAlone(deps, submission))) {
      await settleWithoutFile(deps, submission, task, (error as Error).message)
      return false
    }
    await callFailed(deps, submission, trouble ?? (error as Error & { code: string }))
    return false
  }
}

/** Trouble with the service itself, which is asked for a fresh address: it says nothing about the file. */
const serviceCodes = new Set([
  // Of somebody on the way: what the service says itself is trouble of the file.
  'exchange_not_found',
  'exchange_unreachable',
  'exchange_failed',
  'exchange_throttled',
  'exchange_forbidden',
  'exchange_refused',
  'exchange_answer_malformed',
  proxyDeniedCode,
])

/**
 * Nobody can say any more what became of the rows; the run goes on. An Error without its file is one without a word.
 */
async function settleWithoutFile(deps: Deps, submission: Submission, task: Task, message: string): Promise<void> {
  const reason = storableText(`the result file cannot be had: ${message}`)
  const told = { error_code: lostFileCode, error_message: reason }
  deps.logger.warn(
    { run_id: submission.run_id, submission_id: submission.submission_id, code: lostFileCode, reason },
    'result_file_lost',
  )
  if (isBareWithoutFile(deps.contract, task)) {
    await deps.db
      .updateTable('submission')
      .set(told)
      .where('submission_id', '=', submission.submission_id)
      .where('state', '=', 'terminal')
      .execute()
    await settleBareError(deps, submission, { task })
    return
  }
  await settleAs(deps, submission, async (trx) => {
    await trx.updateTable('submission').set(told).where('submission_id', '=', submission.submission_id).execute()
    return await fromErrors(deps, trx, submission, task, { outcome: 'unknown', code: 'result_file_lost', reason })
  })
}

/** A URL may expire; after a failed download the task is read again for a fresh one. */
async function currentUrl(deps: Deps, submission: Submission, stored: string): Promise<string> {
  if (submission.failures === 0 || submission.correlation_id === null) return stored
  return (await deps.exchange.getTask(submission.correlation_id)).fileUrl ?? stored
}
