import { sql, type Transaction } from 'kysely'
import { aloneCode, type RowOutcome } from '../../../db/ledger/settle-outcomes.ts'
import { notTheRowsWords, rootOf } from '../../../db/ledger/split-submission.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { StoredRefusal, Submission } from '../../../db/tables/submission-tables.ts'
import type { Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { unreadableCode } from '../move-submission.ts'
import { generalWords, listedErrors, type SplitVerdict, tellingDepth } from './judge-error.ts'

/** What is said of all rows of a request alike. */
type WholeOutcome = Extract<RowOutcome, { code: string }>

/** What a task that fails as a whole says of each row of its request. Pure. */
export function outcomeOf(submission: Submission, task: Task, verdict: Exclude<SplitVerdict, 'wait'>): WholeOutcome {
  const unreadable = submission.error_code === unreadableCode
  const said = unreadable
    ? `the task ended as ${task.status}; ${submission.error_message ?? ''}`
    : generalWords(task) || listedErrors(task) || `the task ended as ${task.status} and does not name this row`
  if (unreadable) return { outcome: 'unknown', code: unreadableCode, reason: said }
  switch (verdict) {
    case 'alone':
      return { outcome: 'rejected', code: aloneCode, reason: `${said} (it was sent alone)` }
    case 'split':
      return { outcome: 'unknown', code: 'task_error', reason: said }
    case 'not_the_rows':
      return {
        outcome: 'unknown',
        code: 'task_error',
        reason: `${said} (${splitOf(submission)} was split, and every part failed alike, ${notTheRowsWords}`,
      }
    case 'too_many':
      return {
        outcome: 'unknown',
        code: 'task_error',
        reason: `${said} (submission ${rootOf(submission)} was split as often as push.maxSplits allows)`,
      }
    default:
      return verdict satisfies never
  }
}

/**
 * Whether a request of one row was refused over that row: the service took others of the same request, and that tells.
 * A 403 without a code of the service is a gateway's, whose rules come and go; and others that were taken long before
 * the answers to this one were lost do not speak against an outage since.
 */
export async function isOverTheRow(
  { config }: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  { status, code }: StoredRefusal,
): Promise<boolean> {
  if (status !== null) return status !== 403 || code !== String(status)
  const lost = submission.answers_lost_since ?? submission.planned_at
  const { rows } = await sql`
    select from submission
    where (submission_id = ${rootOf(submission)} or root_id = ${rootOf(submission)})
      and accepted_at >= ${new Date(lost.getTime() - config.exchange.giveUpAfterMs)}
    limit 1`.execute(trx)
  return rows.length > 0
}

/** The request that showed that it is not the rows: what fails alone is too few to show it. */
function splitOf(submission: Submission): string {
  return submission.depth < tellingDepth ? 'another request of the run' : `submission ${rootOf(submission)}`
}

/** The same of a request that was refused. Pure. @param isTheRow as `isOverTheRow` says. */
export function outcomeOfRefusal(
  submission: Submission,
  { status, code, reason: said }: StoredRefusal,
  verdict: Exclude<SplitVerdict, 'wait'>,
  isTheRow: boolean,
): WholeOutcome {
  // An attempt before this one may have been taken: then nobody knows what the service holds.
  const outcome = submission.repeats > 0 ? 'unknown' : 'rejected'
  switch (verdict) {
    case 'alone':
      if (status === null && isTheRow) {
        return { outcome: 'rejected', code: aloneCode, reason: `${said} (it was sent alone)` }
      }
      return { outcome, code, reason: `${said} (it was sent alone)` }
    case 'split':
      return { outcome, code, reason: said }
    case 'not_the_rows':
      return {
        outcome,
        code,
        reason: `${said} (requests were split, and every part ${status === null ? 'fared' : 'refused'} alike, so it is not the rows)`,
      }
    case 'too_many':
      return {
        outcome,
        code,
        reason: `${said} (submission ${rootOf(submission)} was split as often as push.maxSplits allows)`,
      }
    default:
      return verdict satisfies never
  }
}
