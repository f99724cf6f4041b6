import { hostname } from 'node:os'
import type { Transaction } from 'kysely'
import { recordAction } from '../../../db/actions/record-action.ts'
import { storableJson, storableText } from '../../../db/copy-text.ts'
import { blameRow } from '../../../db/ledger/batch-size.ts'
import { outcomesFromResultFile } from '../../../db/ledger/file-outcomes.ts'
import { countResendable, markForResend } from '../../../db/ledger/rows-again.ts'
import { type RowOutcome, settleRows } from '../../../db/ledger/settle-outcomes.ts'
import { lockFamily, rootOf } from '../../../db/ledger/split-submission.ts'
import { lockSettlements, type NewMappings, storeMappings } from '../../../db/ledger/store-mappings.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { StoredRefusal, Submission } from '../../../db/tables/submission-tables.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { type HttpError, proxyDeniedCode, saysUnknown } from '../../../exchange/errors.ts'
import { decodeTask, type Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { searchKinds } from '../../streams/kind-names.ts'
import { carriedStreams } from '../../streams/our-streams.ts'
import { kindOf } from '../kinds.ts'
import {
  callDenied,
  callFailed,
  callSucceeded,
  failsAlone,
  isUnreadable,
  judgeFileTrouble,
  lostFileCode,
  moveSubmission,
} from '../move-submission.ts'
import { learnSize, verdictOfRefusal, verdictOfTask } from '../waves/learn-size.ts'
import { generalWords, unnamedRows } from './judge-error.ts'
import { outcomesOfErrors } from './outcomes-of-errors.ts'
import { isBareWithoutFile, namesNoRow, saysNothing, settleBareError, wakeFamily } from './settle-bare-error.ts'
import { stageResultFile } from './stage-result-file.ts'

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
  if (await staged(deps, submission, task, task.fileUrl)) {
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

/** Of a search, which carries none. */
const noRows: RowOutcome = { outcome: 'inferred' }

function tellMappings({ logger }: Deps, { run_id, submission_id }: Submission, { moved, shared }: NewMappings): void {
  for (const mapping of moved) logger.warn({ run_id, submission_id, ...mapping }, 'mapping_moved')
  for (const company of shared) logger.warn({ run_id, submission_id, ...company }, 'company_shared')
}

/**
 * Answers over what a request carries: the format or the content of one of its rows may be what is not accepted, or one
 * may name what the profile cannot use (specification, Authentication 3).
 */
const overContent = new Set([400, 403, 422])

/**
 * The service refused the request as a whole; its rows may be sent again by the next run. One that was refused over
 * what it carries, and carries several rows or is a part of one that does, is judged like a failed task: by halves.
 */
export async function settleRefused(deps: Deps, submission: Submission, error: HttpError): Promise<void> {
  const { code, reason } = refusalWords(error)
  if (overContent.has(error.status) && (submission.row_count > 1 || submission.depth > 0)) {
    await judgeRefusal(deps, submission, { status: error.status, code, reason, message: storableText(error.message) })
    return
  }
  const refused = await deps.db.transaction().execute(async (trx) => {
    const told = { error_code: code, error_message: storableText(error.message), settled_at: deps.now() }
    const tooLarge = verdictOfRefusal(error) === 'too_large'
    // A row that is too large alone will be so tomorrow: it is kept out until it changes.
    const tooLargeAlone = tooLarge && submission.row_count === 1
    const patch = { ...told, too_large: tooLarge && !tooLargeAlone }
    const moved = await moveSubmission(trx, submission, 'refused', patch)
    if (moved === null) return false
    // An attempt before this one may have been taken: then nobody knows what the service holds.
    const outcome = submission.repeats > 0 ? 'unknown' : 'rejected'
    await settleRows(trx, submission.submission_id, tooLargeAlone, async () => ({ outcome, code, reason }))
    if (tooLargeAlone) await blameRow(trx, submission.submission_id)
    await wakeParts(deps, trx, submission)
    await deps.looks.atRun(trx, moved.runId)
    await learnSize(deps, trx, submission, tooLargeAlone ? null : verdictOfRefusal(error))
    return true
  })
  if (!refused) return
  deps.logger.warn({ run_id: submission.run_id, submission_id: submission.submission_id, code }, 'submission_refused')
}

/** What happened to the whole of a request, whose rows are judged by its halves. */
type RefusalEvent = 'refused_over_rows' | 'answers_given_up'

export async function judgeRefusal(
  deps: Deps,
  submission: Submission,
  refusal: StoredRefusal,
  event: RefusalEvent = 'refused_over_rows',
): Promise<void> {
  const { submission_id: id } = submission
  const told = { error_code: refusal.code, error_message: refusal.message, refusal: storableJson(refusal) }
  const moved = await deps.db.transaction().execute(async (trx) => {
    const patch = { ...told, terminal_at: deps.now(), overdue_since: null }
    const moved = await moveSubmission(trx, submission, event, patch)
    if (moved !== null) await deps.looks.atSubmissions(trx, [id])
    return moved
  })
  // At once, because we have the lock; the look is for when we die before it is done.
  if (moved !== null) await settle(deps, id)
}

/** The status by which any HTTP server, or a proxy before the service, refuses a body for its size. */
const contentTooLarge = 413

/**
 * Code and words of a request that was refused as a whole: the service's own, but for its size, which has a code here.
 * Pure.
 */
function refusalWords(error: HttpError): { code: string; reason: string } {
  const said = error.serviceMessage ?? error.message
  if (error.status !== contentTooLarge) {
    return { code: storableText(error.errorCode ?? String(error.status)), reason: storableText(said) }
  }
  const words = [error.errorCode, said].filter((part) => part !== null).join(': ')
  return { code: 'request_too_large', reason: storableText(`the request as a whole is too large (413; ${words})`) }
}

/** The service no longer knows the task: nobody can say what became of its rows. The next run sends them again. */
export async function settleLost(deps: Deps, submission: Submission, error: HttpError): Promise<void> {
  const lost = await deps.db.transaction().execute(async (trx) => {
    const patch = { error_code: 'task_lost', error_message: storableText(error.message), settled_at: deps.now() }
    const moved = await moveSubmission(trx, submission, 'task_unknown', patch)
    if (moved === null) return false
    const said = { outcome: 'unknown', code: 'task_lost', reason: 'the service no longer knows the task' } as const
    await settleRows(trx, submission.submission_id, false, async () => said)
    await wakeParts(deps, trx, submission)
    await deps.looks.atRun(trx, moved.runId)
    return true
  })
  if (!lost) return
  deps.logger.warn({ run_id: submission.run_id, submission_id: submission.submission_id }, 'submission_lost')
}

/**
 * @param decide as `settleRows` has it; of a search, which carries no rows, what else there is to do.
 * @param moves whether a staged file may move hotels to other companies.
 */
async function settleAs(
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
async function wakeParts(deps: Deps, trx: Transaction<Schema>, submission: Submission): Promise<void> {
  if (submission.root_id === null) return
  await wakeFamily(deps, trx, submission, await lockFamily(trx, rootOf(submission)))
}

/** @param elsewhere properties that the result file names with another company than their mapping does. */
async function fromErrors(
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

/** @returns false when the file could not be had now, or any more: then the submission was settled without it. */
async function staged(deps: Deps, submission: Submission, task: Task, fileUrl: string): Promise<boolean> {
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
