import { hostname } from 'node:os'
import type { Transaction } from 'kysely'
import { recordAction } from '../../../db/actions/record-action.ts'
import { countResendable, markForResend } from '../../../db/ledger/rows-again.ts'
import { type RowOutcome, settleRows } from '../../../db/ledger/settle-outcomes.ts'
import { lockFamily, rootOf } from '../../../db/ledger/split-submission.ts'
import { lockSettlements } from '../../../db/ledger/store-mappings.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Submission } from '../../../db/tables/submission-tables.ts'
import { decodeTask, type Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { carriedStreams } from '../../streams/our-streams.ts'
import { moveSubmission } from '../move-submission.ts'
import { learnSize, verdictOfTask } from '../waves/learn-size.ts'
import { outcomesOfErrors } from './outcomes-of-errors.ts'
import { wakeFamily } from './settle-bare-error.ts'

/**
 * Has the next run ask again which company each of these properties is: the service names them with another one than
 * their mapping does. Until it has answered, nothing is sent for them. Properties of which nothing counts as accepted
 * are left as they are: their mapping is asked for anyway.
 */
async function mapAgain(
  { config, contract, now, logger }: Pick<Deps, 'config' | 'contract' | 'now' | 'logger'>,
  trx: Transaction<Schema>,
  { run_id, submission_id }: Submission,
  partnerIds: readonly string[],
): Promise<void> {
  if (partnerIds.length === 0) return
  logger.warn({ run_id, submission_id, properties: partnerIds.length }, 'result_other_company')
  const which = { stream: 'properties', partnerIds }
  const carried = carriedStreams(contract, config)
  const [found] = await countResendable(trx, carried, which)
  if (found === undefined) return
  const actionId = await recordAction(trx, {
    verb: 'repair',
    actor: { user: 'nightferry', host: hostname() },
    at: now(),
    submissionId: submission_id,
    rows: found.rows,
    asked: { stream: 'properties', run: String(run_id) },
    result: 'the next run asks for their mappings again',
  })
  await markForResend(trx, actionId, carried, which)
}

/**
 * Ends a submission with the outcomes of its rows, in one transaction with all that follows from it.
 * @param decide as `settleRows` has it; of a search, which carries no rows, what else there is to do.
 * @param moves whether a staged file may move hotels to other companies.
 */
export async function settleAs(
  deps: Deps,
  submission: Submission,
  decide: (trx: Transaction<Schema>) => Promise<RowOutcome>,
  moves = false,
): Promise<void> {
  const id = submission.submission_id
  const settled = await deps.db.transaction().execute(async (trx) => {
    const moved = await moveSubmission(trx, submission, 'settled', { settled_at: deps.now() })
    if (moved === null) return false
    if (moves) await lockSettlements(trx, id)
    await settleRows(trx, id, true, () => decide(trx))
    await wakeParts(deps, trx, submission)
    await deps.looks.atRun(trx, moved.runId)
    await learnSize(deps, trx, submission, verdictOfTask(deps.contract, decodeTask(deps.contract, submission.task)))
    return true
  })
  if (!settled) return
  deps.logger.info(
    { run_id: submission.run_id, submission_id: id, correlation_id: submission.correlation_id },
    'submission_settled',
  )
}

/** Asks for looks at the other parts of a request that was split: they may have waited for this one to end. */
export async function wakeParts(deps: Deps, trx: Transaction<Schema>, submission: Submission): Promise<void> {
  if (submission.root_id === null) return
  await wakeFamily(deps, trx, submission, await lockFamily(trx, rootOf(submission)))
}

/**
 * The outcomes that a task's error rows tell, and what of the others.
 * @param elsewhere properties that the result file names with another company than their mapping does.
 */
export async function fromErrors(
  deps: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  task: Task,
  unnamed: RowOutcome,
  elsewhere: readonly string[] = [],
): Promise<RowOutcome> {
  const told = await outcomesOfErrors(deps, trx, submission, task, unnamed)
  // A mapping is asked for as it is.
  const asked = submission.kind === 'company_mappings' ? [] : [...new Set([...elsewhere, ...told.elsewhere])]
  await mapAgain(deps, trx, submission, asked)
  return told.rest
}
