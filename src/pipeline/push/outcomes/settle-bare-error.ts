import type { Transaction } from 'kysely'
import { requirementsOf } from '../../../config/require-settings.ts'
import { storableJson, storableText } from '../../../db/copy-text.ts'
import { isHeld } from '../../../db/guard/guard-plan.ts'
import { unmatchedCode } from '../../../db/ledger/error-outcomes.ts'
import { settleRows, withVerdicts } from '../../../db/ledger/settle-outcomes.ts'
import {
  type FamilyMember,
  failsWhatever,
  insertPart,
  lockFamily,
  rootOf,
  rowsToSplit,
  taskOf,
  wasNotTheRows,
} from '../../../db/ledger/split-submission.ts'
import { lockRun } from '../../../db/runs/run-life.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { StoredRefusal, Submission } from '../../../db/tables/submission-tables.ts'
import { unfinishedStates } from '../../../db/tables/submission-tables.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { decodeTask, type Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { lostFileCode, moveSubmission, unreadableCode } from '../move-submission.ts'
import { learnSize } from '../waves/learn-size.ts'
import { cutInHalves, judgeFailedPart, type Part, type SplitVerdict, unnamedRows } from './judge-error.ts'
import { isOverTheRow, outcomeOf, outcomeOfRefusal } from './outcome-of-whole.ts'
import { outcomesOfErrors } from './outcomes-of-errors.ts'

/** A task that ended in Error and says of no row what became of it, neither by an error row nor in a file. */
function isBareError({ taskStatuses }: Contract, task: Task): boolean {
  return task.status === taskStatuses.error && task.rowErrors.length === 0 && task.fileUrl === null
}

/** What says that a request failed, and not over which of its rows. */
type WholeFailure = { task: Task } | { refusal: StoredRefusal }

/** A task whose result file cannot be had any more, and that names no rows, ended as if it had never had one. */
export function isBareWithoutFile(contract: Contract, task: Task): boolean {
  return isBareError(contract, { ...task, fileUrl: null })
}

/** Whether a submission's task says of no row what became of it, and never will: its file, if any, was given up. */
export function saysNothing(contract: Contract, { error_code }: Pick<FamilyMember, 'error_code'>, task: Task): boolean {
  return (
    isBareError(contract, task) ||
    (error_code === lostFileCode && isBareWithoutFile(contract, task)) ||
    (error_code === unmatchedCode && mayNameNoRow(contract, task))
  )
}

/** A task that ended in Error and tells of rows by its error rows alone, which may all be none of the request. */
function mayNameNoRow({ taskStatuses }: Contract, task: Task): boolean {
  return task.status === taskStatuses.error && task.rowErrors.length > 0 && task.fileUrl === null
}

/**
 * Whether a task ended in Error and lists failed rows of which none is one of the request: it says as little as one
 * that lists none. That is noted with the submission, and so is what it lists. One that names a property with another
 * company says something of it.
 */
export async function namesNoRow({ contract, db }: Deps, submission: Submission, task: Task): Promise<boolean> {
  if (!mayNameNoRow(contract, task)) return false
  const { submission_id: id } = submission
  return await db.transaction().execute(async (trx) => {
    const { unmatched, elsewhere } = await withVerdicts(trx, id, () =>
      outcomesOfErrors({ contract }, trx, submission, task, unnamedRows(contract, task)),
    )
    if (unmatched < task.rowErrors.length || elsewhere.length > 0) return false
    await trx
      .updateTable('submission')
      .set({
        error_code: unmatchedCode,
        error_message: 'none of the failed rows that the task lists is of the request',
      })
      .where('submission_id', '=', id)
      .where('state', '=', 'terminal')
      .execute()
    return true
  })
}

/**
 * Settles a submission whose task ended in Error without naming a row, or whose answer is too long to be read, as one
 * that names very many rows is, or that the service refused with 400, 403 or 422, or whose answers are lost however
 * often it is sent: it is split in halves, down to the rows that the service fails over, or left as it is where
 * splitting is no use. One transaction: halves exist, and carry their rows, exactly if the request is settled.
 *
 * Nothing is done while the other parts of the same first request have to end before it can be judged, or while a run
 * that took the request over still reads and judges what the partner has by now; a look comes again.
 */
export async function settleBareError(deps: Deps, submission: Submission, failure: WholeFailure): Promise<void> {
  const { submission_id: id, run_id } = submission
  const settled = await deps.db.transaction().execute(async (trx) => {
    const family = await lockFamily(trx, rootOf(submission))
    const parts = await partsOf(deps.contract, trx, family, failure)
    const verdict = await judge(deps, trx, submission, parts, failure)
    if (verdict === 'wait' || (verdict === 'split' && (await isTooEarly(trx, id)))) {
      await wakeFamily(deps, trx, submission, family, ['planned'])
      await deps.looks.atSubmissions(trx, [id], deps.config.exchange.pollIntervalMs)
      return null
    }
    const moved =
      'refusal' in failure
        ? await moveSubmission(trx, submission, 'refused', {
            settled_at: deps.now(),
            refusal: storableJson({ ...failure.refusal, verdict }),
          })
        : await moveSubmission(trx, submission, 'settled', { settled_at: deps.now() })
    if (moved === null) return null
    const splits = verdict === 'split' && (await maySplit(deps, trx, moved.runId))
    const isTheRow =
      verdict === 'alone' &&
      parts.some(({ fate }) => fate === 'passed') &&
      (!('refusal' in failure) || (await isOverTheRow(deps, trx, submission, failure.refusal)))
    const outcome =
      'refusal' in failure
        ? outcomeOfRefusal(submission, failure.refusal, verdict, isTheRow)
        : outcomeOf(submission, failure.task, verdict)
    const keepOut = 'task' in failure || isTheRow
    await settleRows(trx, id, keepOut, async () => ({ ...outcome, reason: storableText(outcome.reason) }))
    const halves = splits ? await split(deps, trx, submission, moved.runId) : []
    await deps.looks.atSubmissions(trx, halves)
    await wakeFamily(deps, trx, submission, family)
    await deps.looks.atRun(trx, moved.runId)
    // Parts are smaller than what is cut now, and say nothing of its size.
    if (submission.depth === 0 && 'task' in failure) await learnSize(deps, trx, submission, 'failed')
    return { verdict, parts: halves }
  })
  if (settled === null) return
  deps.logger.warn(
    { run_id, submission_id: id, correlation_id: submission.correlation_id, ...settled },
    // A run that has ended, or is held, plans no halves of what it ought to split.
    settled.parts.length > 0 ? 'submission_split' : 'submission_failed_whole',
  )
}

/**
 * A row that failed alone, and no part of its request passed, is not at fault where the run has shown that all of the
 * kind fails. Of a refusal two things are judged besides: a row that was refused alone waits for its siblings, which
 * tell whether it is the row; and what was shown not to be the rows in this run is not split another time, unless
 * answers were lost: that may be over something else each time.
 */
async function judge(
  { config, contract }: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  family: readonly Part[],
  failure: WholeFailure,
): Promise<SplitVerdict> {
  const { row_count: rows, depth } = submission
  const verdict = judgeFailedPart({ rows, depth, family, maxSplits: config.push.maxSplits })
  if (verdict === 'wait') return verdict
  const told = family.some(({ fate }) => fate === 'passed')
  if ('task' in failure) {
    const { success, partialSuccess } = contract.taskStatuses
    const mayBeOutage = verdict === 'alone' && !told
    return mayBeOutage && (await failsWhatever(trx, submission, [success, partialSuccess])) ? 'not_the_rows' : verdict
  }
  const { status, code } = failure.refusal
  if (depth === 0 && verdict === 'split' && status !== null && (await wasNotTheRows(trx, submission, code))) {
    return 'not_the_rows'
  }
  return verdict === 'alone' && !told && family.some(({ fate }) => fate === 'open') ? 'wait' : verdict
}

/** Asks for looks at the parts of the same first request that may have waited for this one. */
export async function wakeFamily(
  deps: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  family: readonly Pick<FamilyMember, 'submission_id' | 'state'>[],
  states: readonly FamilyMember['state'][] = ['planned', 'terminal'],
): Promise<void> {
  const waiting = family.filter(
    ({ submission_id, state }) => submission_id !== submission.submission_id && states.includes(state),
  )
  await deps.looks.atSubmissions(
    trx,
    waiting.map(({ submission_id }) => submission_id),
  )
}

/** The steps of a run that read what the partner has, and judge it. Whatever else a run does comes after them. */
const stepsBeforePlanning = new Set(['reference', 'extract', 'preflight'])

/**
 * Whether the run that a submission belongs to by now has yet to say what may be sent: halves that were planned before
 * would be written from rows that change, and are found invalid or held, after the halves took them. Told by its step,
 * and not by what was planned: there may be nothing to plan.
 */
async function isTooEarly(trx: Transaction<Schema>, submissionId: number): Promise<boolean> {
  const { step, held } = await trx
    .selectFrom('submission')
    .innerJoin('run', 'run.run_id', 'submission.run_id')
    .select(['step', 'held'])
    .where('submission_id', '=', submissionId)
    .executeTakeFirstOrThrow()
  return !held && stepsBeforePlanning.has(step)
}

/**
 * Whether a run may plan halves. One that the guard holds sends nothing, and one that has ended would leave them to
 * nobody: the run that takes over has looked already, and plans the rows itself. One that goes on is kept from ending
 * until the halves are there. Asked before any row is touched: what plans and marks rows locks the run first, too.
 */
async function maySplit({ config }: Deps, trx: Transaction<Schema>, runId: number): Promise<boolean> {
  const run = await trx.selectFrom('run').select('held').where('run_id', '=', runId).executeTakeFirstOrThrow()
  return !(await isHeld(trx, run, requirementsOf(config))) && (await lockRun(trx, runId))
}

async function split(
  { config }: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  runId: number,
): Promise<number[]> {
  const halves = cutInHalves(await rowsToSplit(trx, submission.submission_id, requirementsOf(config))).filter(
    ({ length }) => length > 0,
  )
  const parts = []
  for (const half of halves) {
    const rowIds = half.map(({ row_id }) => row_id)
    parts.push(await insertPart(trx, submission, runId, rowIds))
  }
  return parts
}

/** One task after the other: together they would be as long as many answers. */
async function partsOf(
  contract: Contract,
  trx: Transaction<Schema>,
  family: readonly FamilyMember[],
  failure: WholeFailure,
): Promise<Part[]> {
  const parts = []
  for (const member of family) {
    const part = 'refusal' in failure ? refusedOrTaken(member) : null
    parts.push(part ?? partOf(contract, member, await taskOf(trx, member.submission_id)))
  }
  return parts
}

/** Of a request that was refused, what counts of its other parts: whether the service took them, however they ended. */
function refusedOrTaken({ depth, state, refused, overdue_since }: FamilyMember): Part {
  const settled = !unfinishedStates.includes(state)
  if (refused) return { depth, fate: 'failed', settled }
  if (state === 'accepted' || state === 'terminal' || state === 'settled')
    return { depth, fate: 'passed', settled: true }
  const over = settled || overdue_since !== null
  return { depth, fate: over ? 'nothing' : 'open', settled: over }
}

function partOf(contract: Contract, member: FamilyMember, task: unknown): Part {
  const { depth, state, overdue_since } = member
  // One that never ends says nothing, and none of the others waits for it.
  const settled = !unfinishedStates.includes(state) || (overdue_since !== null && state !== 'terminal')
  if (member.refused) return { depth, fate: 'failed', settled }
  if (task === null) return { depth, fate: settled ? 'nothing' : 'open', settled }
  const read = decodeTask(contract, task)
  if (saysNothing(contract, member, read)) return { depth, fate: 'failed', settled }
  // Its file may yet say which rows failed, or turn out to be lost, and its error rows may name none; one that was
  // given up was not read.
  const unread = state !== 'settled' && member.error_code !== unreadableCode
  const mayYetFail = isBareWithoutFile(contract, read) || mayNameNoRow(contract, read)
  if (unread && mayYetFail) return { depth, fate: settled ? 'nothing' : 'open', settled }
  const { success, partialSuccess, error } = contract.taskStatuses
  return { depth, fate: [success, partialSuccess, error].includes(read.status) ? 'passed' : 'nothing', settled }
}
