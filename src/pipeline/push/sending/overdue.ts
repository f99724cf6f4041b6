import type { Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Submission } from '../../../db/tables/submission.ts'
import type { Deps } from '../../deps.ts'
import { searchKinds } from '../../streams/kind-names.ts'
import { hasLasted } from '../../when-to-look.ts'
import { moveSubmission } from '../move-submission.ts'

/** Of a submission: what it waits for at the service has not ended within `exchange.taskPatienceMs`. */
export const overdueCode = 'task_overdue'

/**
 * Whether a submission has waited for the service longer than a run waits. `since`: from when it has. Pure but for the
 * clock.
 */
export function hasBecomeOverdue({ config, now }: Deps, { overdue_since }: Submission, since: Date | null): boolean {
  if (overdue_since !== null || since === null) return false
  return hasLasted(since, now(), config.exchange.taskPatienceMs)
}

/**
 * Lets the run go on without a submission. One that carries rows keeps them, so that nothing overtakes it, and every
 * later run looks at it again. A search carries none: it is given up, and the next run makes another.
 */
export async function becomeOverdue(deps: Deps, trx: Transaction<Schema>, submission: Submission): Promise<void> {
  const { submission_id: id, run_id, kind } = submission
  const overdue = { overdue_since: deps.now(), error_code: overdueCode, error_message: overdueWords(deps, submission) }
  if (searchKinds.includes(kind)) {
    await moveSubmission(trx, id, 'search_overdue', { ...overdue, settled_at: deps.now() })
  } else {
    await trx.updateTable('submission').set(overdue).where('submission_id', '=', id).execute()
  }
  await deps.looks.atRun(trx, run_id)
}

/** To be called once it is committed that a submission is overdue. */
export function logOverdue(deps: Deps, submission: Submission, status: string | null): void {
  const { run_id, submission_id, correlation_id } = submission
  const about = { run_id, submission_id, correlation_id, status }
  deps.logger.warn({ ...about, code: overdueCode, reason: overdueWords(deps, submission) }, 'task_overdue')
}

function overdueWords({ config }: Deps, { correlation_id }: Submission): string {
  const minutes = Math.round(config.exchange.taskPatienceMs / 60_000)
  const what = correlation_id === null ? 'a task that may be the one of this request' : `task ${correlation_id}`
  return `${what} has not ended within ${minutes} minutes (exchange.taskPatienceMs)`
}
