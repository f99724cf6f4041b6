import { type Actor, recordAction, recordResult } from '../../db/actions/record-action.ts'
import { storableText } from '../../db/copy-text.ts'
import { releaseUnsent, settleRows } from '../../db/ledger/settle-outcomes.ts'
import { withSubmissionLockWaiting } from '../../db/locks/advisory-lock.ts'
import { apiKeyIdOf, knownApiKeyIds } from '../../db/service-key/service-key.ts'
import type { Submission, SubmissionState } from '../../db/tables/submission-tables.ts'
import { unfinishedStates } from '../../db/tables/submission-tables.ts'
import type { Contract } from '../../exchange/contract.ts'
import { HttpError } from '../../exchange/errors.ts'
import { type Task, taskKey } from '../../exchange/task.ts'
import { ActionRefused, type Deps } from '../deps.ts'
import { requestOf } from '../push/kinds.ts'
import { callSucceeded, moveSubmission } from '../push/move-submission.ts'
import { earliestStamp } from '../push/sending/listed-tasks.ts'
import { unfinishedCandidates } from '../push/sending/resolve-uncertain.ts'

type Abandoned = {
  submission_id: number
  kind: string
  /** The state that it was given up in. */
  was: SubmissionState
  correlation_id: string | null
  rows: number
  /** False: the service took nothing of it up, so its rows are as they were: ready at once, unless it is a part. */
  sent: boolean
}

/**
 * Gives a submission up that waits for something which will not come. What became of its rows is unknown: they are
 * pending, and the next run sends them again; the run that waited goes on. Where no attempt can have arrived, they are
 * as they were. Should the service work on the task after all, its end is not read any more, so anyone who knows that
 * it is stuck cancels it first.
 *
 * @throws {ActionRefused} `submission_state` when it has ended already.
 */
export async function abandonSubmission(deps: Deps, submissionId: number, actor: Actor): Promise<Abandoned> {
  return await lockSubmission(deps, submissionId, async (submission) => {
    const { kind, state: was, correlation_id, row_count } = submission
    const sent = was !== 'planned' || submission.uncertain_since !== null
    const reason = storableText(`given up by ${actor.user} while it was ${was}`)
    if (!unfinishedStates.includes(was)) {
      throw new ActionRefused('submission_state', `Submission ${submissionId} is ${was}: nothing waits for it any more`)
    }
    await deps.db.transaction().execute(async (trx) => {
      // We have the lock, so the one that sent it is gone, and the answer with it.
      if (was === 'sending') await moveSubmission(trx, submission, 'answer_lost', { uncertain_since: deps.now() })
      const patch = { error_code: 'abandoned', error_message: reason, settled_at: deps.now() }
      const moved = await moveSubmission(trx, submission, 'abandoned', patch)
      if (moved === null) throw new Error(`submission ${submissionId} changed its state under its lock`)
      if (sent) {
        await settleRows(trx, submissionId, false, async () => ({ outcome: 'unknown', code: 'abandoned', reason }))
      } else {
        await releaseUnsent(trx, submissionId)
      }
      await recordAction(trx, {
        verb: 'abandon',
        actor,
        at: deps.now(),
        submissionId,
        correlationId: correlation_id,
        rows: row_count,
        result: `was ${was}`,
      })
      await deps.looks.atRun(trx, moved.runId)
    })
    deps.logger.warn({ submission_id: submissionId, correlation_id, was, rows: row_count }, 'submission_abandoned')
    return { submission_id: submissionId, kind, was, correlation_id, rows: row_count, sent }
  })
}

type Adopted = { submission_id: number; kind: string; correlation_id: string; task_status: string; rows: number }

/**
 * Takes a person's word for which task an uncertain submission became. From then on it is polled and settled like any
 * other. The service is asked whether there is such a task, and of which request type.
 *
 * @throws {ActionRefused} `submission_state` when its answer is not lost, `task_not_adoptable` when the task cannot be
 *   its own, or another that may be goes on.
 * @throws {HttpError} `exchange_not_found` when the service knows no such task.
 */
export async function adoptTask(
  deps: Deps,
  submissionId: number,
  correlationId: string,
  actor: Actor,
): Promise<Adopted> {
  return await lockSubmission(deps, submissionId, async (submission) => {
    const { kind, state, row_count: rows } = submission
    if (state !== 'uncertain' && state !== 'sending') throw notUncertain(submission)
    const task = await deps.exchange.getTask(correlationId)
    const earliest = earliestStamp(submission.planned_at, submission.skew_low_ms, deps.exchange.skew())
    const why =
      whyNotItsTask(deps.contract, submission, task, earliest) ??
      (await whyNotItsKey(deps, submission, task)) ??
      (await whyNotItsOnlyTask(deps, submission, task))
    if (why !== null) throw new ActionRefused('task_not_adoptable', `${why}. Nothing was changed`)
    await deps.db.transaction().execute(async (trx) => {
      const owner = await trx
        .selectFrom('submission')
        .select('submission_id')
        .where((eb) => eb(eb.fn('lower', ['correlation_id']), '=', task.correlationId.toLowerCase()))
        .executeTakeFirst()
      if (owner !== undefined) {
        throw new ActionRefused(
          'task_not_adoptable',
          `Task ${task.correlationId} is that of submission ${owner.submission_id}. Nothing was changed`,
        )
      }
      if (state === 'sending') await moveSubmission(trx, submission, 'answer_lost', { uncertain_since: deps.now() })
      const patch = {
        ...callSucceeded,
        correlation_id: task.correlationId,
        accepted_at: deps.now(),
        overdue_since: null,
      }
      const moved = await moveSubmission(trx, submission, 'adopted', patch)
      if (moved === null) throw new Error(`submission ${submissionId} changed its state under its lock`)
      const result = `the task is ${task.status}`
      await recordAction(trx, {
        verb: 'adopt',
        actor,
        at: deps.now(),
        submissionId,
        correlationId: task.correlationId,
        rows,
        result,
      })
      await deps.looks.atSubmissions(trx, [submissionId])
    })
    deps.logger.warn({ submission_id: submissionId, correlation_id: task.correlationId }, 'task_adopted')
    return { submission_id: submissionId, kind, correlation_id: task.correlationId, task_status: task.status, rows }
  })
}

/**
 * Why a task cannot be what a submission became, or null. Pure. Stricter than the search for candidates: what a person
 * names wrongly would be read as the outcome of rows that it never carried.
 * @param earliest that the service can have stamped a task of it.
 */
function whyNotItsTask(contract: Contract, submission: Submission, task: Task, earliest: Date): string | null {
  const names = requestOf(contract, submission.kind).taskName
  const of = `Submission ${submission.submission_id} is of the kind ${submission.kind}`
  if (task.requestType !== null && task.requestType !== names.requestType) {
    const wanted = names.requestType === '' ? 'none' : names.requestType
    return `${of}, whose tasks have the request type ${wanted}; task ${task.correlationId} has ${task.requestType}`
  }
  if (task.taskKind !== null && task.taskKind !== names.kind) {
    return `${of}, whose tasks have the kind ${names.kind}; task ${task.correlationId} has ${task.taskKind}`
  }
  // The first attempt may be the one that arrived.
  if (task.createdAt !== null && task.createdAt.getTime() < earliest.getTime()) {
    return `Task ${task.correlationId} was created at ${task.createdAt.toISOString()}, before submission ${submission.submission_id} was planned at ${submission.planned_at.toISOString()}`
  }
  return null
}

/**
 * Why a task was not submitted with a key of ours, or null. Nobody can say so while no task has shown what the service
 * calls the key of the attempt.
 */
async function whyNotItsKey(
  { db }: Deps,
  submission: Submission,
  { apiKeyId, correlationId }: Task,
): Promise<string | null> {
  if (apiKeyId === null || (await apiKeyIdOf(db, submission.key_fingerprint)) === null) return null
  if ((await knownApiKeyIds(db)).includes(storableText(apiKeyId))) return null
  return `Task ${correlationId} was submitted with another API key (${apiKeyId}), which is none of ours`
}

/**
 * Why a task may not be the only one that a submission became, or null. One that was sent once became one task at most,
 * and the person says which. One that was sent again may have become two: while another that may be its own goes on,
 * its rows must stay with it.
 */
async function whyNotItsOnlyTask(deps: Deps, submission: Submission, { correlationId }: Task): Promise<string | null> {
  if (submission.repeats === 0) return null
  const candidates = await unfinishedCandidates(deps, submission)
  const other = candidates.find((id) => taskKey(id) !== taskKey(correlationId))
  if (other === undefined) return null
  return `Submission ${submission.submission_id} was sent more than once, and task ${other}, which may be of another attempt, has not ended`
}

function notUncertain({ submission_id, state, correlation_id }: Submission): ActionRefused {
  const why =
    correlation_id === null
      ? `Submission ${submission_id} is ${state}, not uncertain: no answer of it is lost`
      : `Submission ${submission_id} is ${state}, and its task is ${correlation_id}`
  return new ActionRefused('submission_state', why)
}

/**
 * Of a request: where it stands, what the service last said of its task and how often it did, which request it is a
 * part of, and whether its run waits for it.
 */
export type StateOfRequest = Pick<Submission, 'state' | 'task_status' | 'polls' | 'parent_id'> & { run_state: string }

/** Where a request stands now. */
export async function stateOfRequest({ db }: Pick<Deps, 'db'>, submissionId: number): Promise<StateOfRequest> {
  return await db
    .selectFrom('submission')
    .innerJoin('run', 'run.run_id', 'submission.run_id')
    .select(['submission.state', 'task_status', 'polls', 'parent_id', 'run.state as run_state'])
    .where('submission_id', '=', submissionId)
    .executeTakeFirstOrThrow()
}

type CancelAnswer = {
  submission_id: number
  kind: string
  correlation_id: string
  rows: number
  /** False: the service did not cancel it, for processing has begun. */
  cancelled: boolean
  /** The service's answer where it did not. */
  said: string | null
}

/** What the service answers about a task whose processing has begun: an assumption, docs/spec-gaps.md, `cancelTask`. */
const conflict = 409

/**
 * Asks the service to cancel a submission's task, which it does while processing has not begun. What became of the
 * rows is read from the task as ever; a look at it is asked for.
 *
 * @throws {ActionRefused} `submission_state` when there is no task that could be cancelled.
 * @throws {HttpError} {TransportError} when the service did not do it for another reason, or nobody knows.
 */
export async function cancelTask(deps: Deps, submissionId: number, actor: Actor): Promise<CancelAnswer> {
  return await lockSubmission(deps, submissionId, async (submission) => {
    const { kind, row_count: rows } = submission
    const correlationId = taskOf(submission)
    // Written down before the service is asked: what it is asked is done even if its answer never comes.
    const actionId = await deps.db
      .transaction()
      .execute((trx) => recordAction(trx, { verb: 'cancel', actor, at: deps.now(), submissionId, correlationId, rows }))
    const said = await answerTo(
      () => deps.exchange.cancelTask(correlationId),
      async (result) => {
        await recordResult(deps.db, actionId, storableText(result))
      },
    )
    await deps.db.transaction().execute((trx) => deps.looks.atSubmissions(trx, [submissionId]))
    deps.logger.warn({ submission_id: submissionId, correlation_id: correlationId, said }, 'task_cancel_asked')
    return { submission_id: submissionId, kind, correlation_id: correlationId, rows, cancelled: said === null, said }
  })
}

/** Null when it was cancelled, the service's words when it cannot be any more. */
async function answerTo(ask: () => Promise<void>, record: (result: string) => Promise<void>): Promise<string | null> {
  try {
    await ask()
  } catch (error) {
    const { message } = error as Error
    await record(`not cancelled: ${message}`)
    if (error instanceof HttpError && error.status === conflict) return message
    throw error
  }
  await record('cancelled')
  return null
}

function taskOf({ submission_id, state, correlation_id }: Submission): string {
  if (state === 'accepted' && correlation_id !== null) return correlation_id
  const why = {
    planned: 'waits to be sent, so there is no task to cancel. nightferry abandon gives it up',
    sending: 'is being sent; its task is not known yet',
    uncertain:
      'has no task that is known to be its own. nightferry adopt says which it is, nightferry abandon gives it up',
    accepted: 'has no correlation id',
    terminal: 'has a task that has ended',
    settled: 'has a task that has ended, and is settled',
    refused: 'was refused, and has no task',
    lost: 'has a task that the service no longer knows',
    abandoned: 'was given up',
  }[state]
  throw new ActionRefused('submission_state', `Submission ${submission_id} ${why}`)
}

/**
 * Milliseconds that a person waits for the look at work, which may be waiting for the service. A call ends within
 * `exchange.headersTimeoutMs`, a minute unless configured; a download may take longer, and then the person is told.
 */
const patienceMs = 75_000

/**
 * Runs a person's action under the lock that every look at the submission takes: no daemon sends, polls or settles it
 * meanwhile. What a look has made of it while the person waited for that lock is not what the person has seen.
 * @throws {ActionRefused} `submission_unknown`; `submission_elsewhere` when it went to a destination that is not in
 *   use; `submission_busy` when a look does not end in time; `submission_state` when it became another meanwhile.
 */
async function lockSubmission<T>(
  { db, pool }: Pick<Deps, 'db' | 'pool'>,
  submissionId: number,
  work: (submission: Submission) => Promise<T>,
): Promise<T> {
  const done: { result: T }[] = []
  const seen = await findSubmission(db, submissionId)
  const locked = await withSubmissionLockWaiting(pool, submissionId, patienceMs, async () => {
    const submission = await findSubmission(db, submissionId)
    await refuseElsewhere({ db }, submission)
    const { state, attempts, correlation_id } = submission
    if (state !== seen.state || attempts !== seen.attempts || correlation_id !== seen.correlation_id) {
      throw new ActionRefused(
        'submission_state',
        `Submission ${submissionId} was ${seen.state}, and became ${state} while a look at it ended. Nothing was changed; look at it, and ask again if you still mean it`,
      )
    }
    done.push({ result: await work(submission) })
  })
  const [first] = done
  if (!locked || first === undefined) {
    throw new ActionRefused(
      'submission_busy',
      `A process has been looking at submission ${submissionId} for ${patienceMs / 1000} seconds, as when the service is slow to answer. Nothing was changed; try again`,
    )
  }
  return first.result
}

async function findSubmission(db: Deps['db'], submissionId: number): Promise<Submission> {
  const submission = await db
    .selectFrom('submission')
    .selectAll()
    .where('submission_id', '=', submissionId)
    .executeTakeFirst()
  if (submission !== undefined) return submission
  throw new ActionRefused(
    'submission_unknown',
    `There is no submission ${submissionId}. nightferry submissions lists those of a run`,
  )
}

/** What is known of its rows lies with the destination that it went to, and that is not at hand. */
async function refuseElsewhere({ db }: Pick<Deps, 'db'>, { submission_id, run_id }: Submission): Promise<void> {
  const sent = await db
    .selectFrom('run')
    .innerJoin('destination', 'destination.destination_id', 'run.destination_id')
    .select(['destination.name', 'schema_name'])
    .where('run_id', '=', run_id)
    .executeTakeFirstOrThrow()
  if (sent.schema_name === null) return
  throw new ActionRefused(
    'submission_elsewhere',
    `Submission ${submission_id} went to the destination ${sent.name}, which is not in use. nightferry destination says how to put it to use`,
  )
}
