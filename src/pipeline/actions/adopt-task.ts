import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import { storableText } from '../../db/copy-text.ts'
import { apiKeyIdOf, knownApiKeyIds } from '../../db/service-key/service-key.ts'
import type { Submission } from '../../db/tables/submission-tables.ts'
import type { Contract } from '../../exchange/contract.ts'
import { type Task, taskKey } from '../../exchange/task.ts'
import { ActionRefused, type Deps } from '../deps.ts'
import { requestOf } from '../push/kinds.ts'
import { callSucceeded, moveSubmission } from '../push/move-submission.ts'
import { earliestStamp } from '../push/sending/listed-tasks.ts'
import { unfinishedCandidates } from '../push/sending/resolve-uncertain.ts'
import { lockSubmission } from './lock-submission.ts'

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
