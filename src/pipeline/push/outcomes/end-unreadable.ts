import { storableJson, storableText } from '../../../db/storable.ts'
import type { Submission } from '../../../db/tables/submission.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { AnswerFormatError } from '../../../exchange/errors.ts'
import type { Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
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
