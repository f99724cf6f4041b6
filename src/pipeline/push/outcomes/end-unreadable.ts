import { storableJson, storableText } from '../../../db/storable.ts'
import type { Submission } from '../../../db/tables/submission.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { DownloadFailed } from '../../../exchange/download-errors.ts'
import type { AnswerFormatError } from '../../../exchange/errors.ts'
import type { Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { hasLasted } from '../../when-to-look.ts'
import { moveSubmission } from '../move-submission.ts'

/** Of a submission, and of its rows: what the service says of its task is longer than may be read into memory. */
export const unreadableCode = 'task_too_large'

/**
 * A task's answer is longer than `exchange.maxAnswerBytes`, as when it names very many rows with long messages. Whether
 * it has ended is read from the list of tasks, which carries no results; then the submission is terminal, and its rows
 * are sent again in halves, whose answers are shorter.
 *
 * @returns false where the list does not say that the task has ended: nothing was changed.
 */
export async function endUnreadable(deps: Deps, submission: Submission, error: AnswerFormatError): Promise<boolean> {
  const tasks = await deps.exchange.getTasks().catch(() => [])
  const listed = tasks.find(({ correlationId }) => correlationId === submission.correlation_id)
  if (listed?.phase !== 'terminal') return false
  await deps.db.transaction().execute(async (trx) => {
    await moveSubmission(trx, submission.submission_id, 'task_terminal', {
      error_code: unreadableCode,
      error_message: storableText(error.message),
      task_status: storableText(listed.status),
      terminal_at: deps.now(),
      polled_at: deps.now(),
      polls: submission.polls + 1,
      task: storableJson(listed.raw),
    })
    await deps.looks.atSubmissions(trx, [submission.submission_id])
  })
  deps.logger.warn(
    { run_id: submission.run_id, submission_id: submission.submission_id, code: unreadableCode },
    'task_unreadable',
  )
  return true
}

/** Whether a terminal task is known by its line in the list only, and names rows, or a file, that nobody could read. */
export function isUnreadable({ taskStatuses }: Contract, submission: Submission, task: Task): boolean {
  const { success, partialSuccess, error } = taskStatuses
  return submission.error_code === unreadableCode && [success, partialSuccess, error].includes(task.status)
}

/** Of a submission and of its rows: the task names a result file that cannot be had. */
export const lostFileCode = 'result_file_lost'

/** Attempts at a result file that is not there, or is no JSON, as many as at a page: about a minute in all. */
const attempts = 6

/** Of a download: the address has expired, or the file is gone. Another address may lead to it. */
const goneCode = 'result_file_gone'

const downloadCodes = new Set(['download_failed', 'download_refused', 'result_file_malformed'])

/** What is to be done about a result file that could not be read; null: it is no matter of the file. */
type FileTrouble = { over: boolean; code: string; message: string }

/**
 * Judges a failed attempt at a result file. A file that is not there, or arrives malformed (it may have been cut short
 * on the way), is tried as often as a page; other trouble, as when nobody answers, for `exchange.giveUpAfterMs`. Pure
 * but for the clock.
 */
export function judgeFileTrouble({ config, now }: Deps, submission: Submission, error: unknown): FileTrouble | null {
  const { code: said, message } = error as Error & { code?: string }
  if (said === 'exchange_not_found') return { over: true, code: said, message }
  if (said === undefined || !downloadCodes.has(said)) return null
  const code = error instanceof DownloadFailed && error.expired ? goneCode : said
  const failures = submission.error_code === code ? submission.failures + 1 : 1
  const since = submission.failures > 0 ? submission.failing_since : null
  const tooLong = since !== null && hasLasted(since, now(), config.exchange.giveUpAfterMs)
  const counted = code === goneCode || code === 'result_file_malformed'
  return { over: tooLong || (counted && failures >= attempts), code, message }
}
