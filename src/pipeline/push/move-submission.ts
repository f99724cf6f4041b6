import type { Transaction, Updateable } from 'kysely'
import { storableJson, storableText } from '../../db/copy-text.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Submission, SubmissionState, SubmissionTable } from '../../db/tables/submission-tables.ts'
import type { Contract } from '../../exchange/contract.ts'
import {
  type AnswerFormatError,
  countedCode,
  DownloadFailed,
  type HttpError,
  proxyDeniedCode,
} from '../../exchange/errors.ts'
import { type Task, taskKey } from '../../exchange/task.ts'
import { type Deps, StopRun } from '../deps.ts'
import { searchKinds } from '../streams/kind-names.ts'
import { denialsBeforeLost, hasLasted, oneMoreDenial, retryInMs } from '../when-to-look.ts'
import { nextState, type SubmissionEvent } from './submission-state.ts'

/**
 * Applies an event to a stored submission under its row's lock. Besides it, `state` is written where a request is
 * planned, and where a new run gives up searches and unsent plans of an ended one (`adoptUnfinished`). A plan that is
 * only shown and a rehearsal end requests at once, in copies of the tables.
 *
 * An event is one of the attempt to send that the caller has read: the lock of a look may be lost while it waits for
 * the service, and another look may have sent the same again.
 * @param submission as the caller has read it.
 * @returns the new state, and the run that the submission belongs to by now: a later one may have taken it over. Null
 *   when the submission's state does not expect the event, another attempt was begun since, or the destination that it
 *   went to is not in use any more: its rows lie there. Nothing was changed then.
 */
export async function moveSubmission(
  trx: Transaction<Schema>,
  { submission_id: submissionId, attempts }: Pick<Submission, 'submission_id' | 'attempts'>,
  event: SubmissionEvent,
  patch: Omit<Updateable<SubmissionTable>, 'state'> = {},
): Promise<{ state: SubmissionState; runId: number } | null> {
  const { state, run_id, ...found } = await trx
    .selectFrom('submission')
    .select(['state', 'run_id', 'attempts'])
    .where('submission_id', '=', submissionId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  if (found.attempts !== attempts || !(await isInUse(trx, run_id))) return null
  const next = nextState(state, event)
  if (next === state) return null
  await trx
    .updateTable('submission')
    .set({ ...patch, state: next })
    .where('submission_id', '=', submissionId)
    .execute()
  return { state: next, runId: run_id }
}

/**
 * Writes what a look has met to a submission, where that is still as the look has read it: its lock may be lost while
 * it waits for the service, and what it met says nothing of the attempt or the state that another look brought about.
 * @returns false where it is not. Nothing was changed then.
 */
export async function updateAsRead(
  trx: Transaction<Schema>,
  { submission_id, attempts, state }: Submission,
  patch: Omit<Updateable<SubmissionTable>, 'state'>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('submission')
    .set(patch)
    .where('submission_id', '=', submission_id)
    .where('attempts', '=', attempts)
    .where('state', '=', state)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Whether the destination of a run is in use, and stays so until the transaction ends. */
async function isInUse(trx: Transaction<Schema>, runId: number): Promise<boolean> {
  const destination = await trx
    .selectFrom('run')
    .innerJoin('destination', 'destination.destination_id', 'run.destination_id')
    .select('schema_name')
    .where('run_id', '=', runId)
    .forKeyShare(['destination'])
    .executeTakeFirstOrThrow()
  return destination.schema_name === null
}

/**
 * A call about a submission failed in a way that says nothing about the submission: look again later.
 * Its state and outcomes stay as they are. Failures of one code in a row are counted, so that a service that is
 * down now and then is not taken for one that denies a task. The service may say when to look again (Retry-After).
 * Nothing is changed where another look has gone on meanwhile.
 *
 * Once calls have failed for as long as the configuration tolerates, and the service answers others, the trouble is
 * with this task alone: the run goes on without it, as without one that does not end.
 *
 * @throws {StopRun} at that point, where the run cannot go on without it or the service does not answer. Never over one
 *   that no run waits for any more.
 */
export async function callFailed(
  deps: Deps,
  submission: Submission,
  error: { code: string; message: string; retryAfterMs?: number | null },
): Promise<void> {
  // Nothing will fare better before a person has corrected it.
  if (error.code === proxyDeniedCode) throw new StopRun(error.code, error.message)
  const since = failingSince(submission) ?? deps.now()
  const code = countedCode(error)
  const failures = submission.error_code === code ? submission.failures + 1 : 1
  deps.logger.warn(
    {
      run_id: submission.run_id,
      submission_id: submission.submission_id,
      code,
      failures,
      since,
      until: new Date(since.getTime() + deps.config.exchange.giveUpAfterMs),
    },
    'exchange_call_failed',
  )
  const { giveUpAfterMs, pollIntervalMs } = deps.config.exchange
  const lasted = hasLasted(since, deps.now(), giveUpAfterMs)
  const trouble = lasted && submission.overdue_since === null ? await troubleWith(deps, submission) : null
  const over = lasted && trouble !== 'passed'
  if (over && !goesOnWithout(submission, trouble)) {
    throw new StopRun(
      code,
      `${error.message}. Given up after ${Math.round((deps.now().getTime() - since.getTime()) / 1000)} seconds; the next run goes on from here`,
    )
  }
  const becomes = over && submission.overdue_since === null
  const written = await deps.db.transaction().execute(async (trx) => {
    const failing_since = trouble === 'passed' ? deps.now() : since
    const told = { error_code: code, error_message: storableText(error.message) }
    if (!(await updateAsRead(trx, submission, { failures, failing_since, ...told }))) return false
    if (becomes) await becomeOverdue(deps, trx, submission, error.message)
    const inMs = Math.max(over ? pollIntervalMs : 0, retryInMs(failures, error.retryAfterMs ?? null))
    await deps.looks.atSubmissions(trx, [submission.submission_id], inMs)
    return true
  })
  if (becomes && written) logOverdue(deps, submission, submission.task_status, error.message)
}

/** Since when calls about a submission have failed, without one that succeeded, denials between them or not. Pure. */
function failingSince({ failures, failing_since }: Submission): Date | null {
  return failures > 0 ? failing_since : null
}

/** Whether calls about this submission have failed for as long as is tolerated while the service answers others. */
export async function failsAlone(deps: Deps, submission: Submission): Promise<boolean> {
  const since = failingSince(submission)
  if (since === null || !hasLasted(since, deps.now(), deps.config.exchange.giveUpAfterMs)) return false
  return (await troubleWith(deps, submission)) === 'task'
}

/** Whether a run can end without a submission, about which calls have failed for as long as is tolerated. Pure. */
function goesOnWithout({ state, overdue_since }: Submission, trouble: Trouble | null): boolean {
  if (state !== 'accepted' && state !== 'uncertain') return false
  return overdue_since !== null || trouble === 'task'
}

/** `service`: it answers nothing. `task`: it answers, but not about this task. `passed`: it answers about that, too. */
type Trouble = 'service' | 'task' | 'passed'

/**
 * What calls about a submission fail over. The task is asked for once more behind the others: a service that came back
 * meanwhile has not been asked for it since. One that was not sent has no task, so there is nothing to ask.
 */
async function troubleWith({ exchange }: Deps, { state, correlation_id }: Submission): Promise<Trouble> {
  if (state === 'planned' || state === 'sending') return 'service'
  if (!(await serviceAnswers(exchange))) return 'service'
  if (correlation_id === null) return 'task'
  return await exchange.getTask(correlation_id).then(
    () => 'passed' as const,
    () => 'task' as const,
  )
}

/** Whether the service answers a call that names nothing of ours. */
export async function serviceAnswers(exchange: Deps['exchange']): Promise<boolean> {
  return await exchange.getTasks().then(
    () => true,
    () => false,
  )
}

/**
 * The service says that it does not know what it was asked for about a submission, such as its task: counts that, and
 * looks again a poll's interval later. It has answered, so this is no call that failed, however long it goes on. Nor is
 * it one that succeeded: where calls failed before, and do so again behind it, they have failed since then.
 *
 * @returns true once it has said so often enough. Nothing was changed then.
 */
export async function callDenied(deps: Deps, submission: Submission, error: HttpError): Promise<boolean> {
  const { pollIntervalMs } = deps.config.exchange
  const { submission_id, run_id, failures, denied_at } = submission
  const known = submission.error_code === error.code && failures > 0 && denied_at !== null
  const denials = oneMoreDenial(known ? { times: failures, at: denied_at } : null, deps.now(), pollIntervalMs)
  deps.logger.warn({ run_id, submission_id, code: error.code, failures: denials.times }, 'exchange_call_failed')
  if (denials.times >= denialsBeforeLost) return true
  await deps.db.transaction().execute(async (trx) => {
    const counted = { failures: denials.times, failing_since: failingSince(submission), denied_at: denials.at }
    const told = { error_code: error.code, error_message: storableText(error.message) }
    if (!(await updateAsRead(trx, submission, { ...counted, ...told }))) return
    await deps.looks.atSubmissions(trx, [submission_id], Math.max(pollIntervalMs, error.retryAfterMs ?? 0))
  })
  return false
}

/** The columns that say that calls succeed again. */
export const callSucceeded = {
  failures: 0,
  failing_since: null,
  answers_lost_since: null,
  error_code: null,
  error_message: null,
}

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
 * @param failure the words of the call that failed for as long as is tolerated, so that nobody can say whether it has
 *   ended; the caller stores them.
 */
export async function becomeOverdue(
  deps: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  failure: string | null = null,
): Promise<void> {
  const { run_id, kind } = submission
  const overdue = { overdue_since: deps.now() }
  const told = { error_code: overdueCode, error_message: overdueWords(deps, submission, failure) }
  if (searchKinds.includes(kind)) {
    await moveSubmission(trx, submission, 'search_overdue', { ...overdue, ...told, settled_at: deps.now() })
  } else {
    // The code of calls that fail stays: they are counted on by it.
    const patch = failure === null ? { ...overdue, ...told } : overdue
    if (!(await updateAsRead(trx, submission, patch))) return
  }
  await deps.looks.atRun(trx, run_id)
}

/** To be called once it is committed that a submission is overdue. */
export function logOverdue(
  deps: Deps,
  submission: Submission,
  status: string | null,
  failure: string | null = null,
): void {
  const { run_id, submission_id, correlation_id } = submission
  const about = { run_id, submission_id, correlation_id, status }
  deps.logger.warn({ ...about, code: overdueCode, reason: overdueWords(deps, submission, failure) }, 'task_overdue')
}

function overdueWords({ config }: Deps, { correlation_id }: Submission, failure: string | null): string {
  const minutes = Math.round(config.exchange.taskPatienceMs / 60_000)
  const what = correlation_id === null ? 'a task that may be the one of this request' : `task ${correlation_id}`
  if (failure !== null) return storableText(`nobody can say whether ${what} has ended: ${failure}`)
  return `${what} has not ended within ${minutes} minutes (exchange.taskPatienceMs)`
}

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
  const key = taskKey(submission.correlation_id ?? '')
  const listed = tasks.find(({ correlationId }) => taskKey(correlationId) === key)
  if (listed?.phase !== 'terminal') return false
  await deps.db.transaction().execute(async (trx) => {
    await moveSubmission(trx, submission, 'task_terminal', {
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
type FileTrouble = { over: boolean; code: string; message: string; retryAfterMs: number | null }

/**
 * Judges a failed attempt at a result file. A file that is not there, or arrives malformed (it may have been cut short
 * on the way), is tried as often as a page; other trouble, as when nobody answers, for `exchange.giveUpAfterMs`. Pure
 * but for the clock.
 */
export function judgeFileTrouble({ config, now }: Deps, submission: Submission, error: unknown): FileTrouble | null {
  const { code: said, message } = error as Error & { code?: string }
  if (said === undefined || !downloadCodes.has(said)) return null
  const code = error instanceof DownloadFailed && error.expired ? goneCode : said
  const failures = submission.error_code === code ? submission.failures + 1 : 1
  const since = submission.failures > 0 ? submission.failing_since : null
  const tooLong = since !== null && hasLasted(since, now(), config.exchange.giveUpAfterMs)
  const counted = code === goneCode || code === 'result_file_malformed'
  const retryAfterMs = error instanceof DownloadFailed ? error.retryAfterMs : null
  return { over: tooLong || (counted && failures >= attempts), code, message, retryAfterMs }
}
