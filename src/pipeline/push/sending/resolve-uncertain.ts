import { sql } from 'kysely'
import { storableJson, storableText } from '../../../db/copy-text.ts'
import { answersLostCode, losesWhatever } from '../../../db/ledger/split-submission.ts'
import { apiKeyIdOf } from '../../../db/service-key/service-key.ts'
import type { ListedTasks, Submission } from '../../../db/tables/submission-tables.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { HttpError, saysUnknown } from '../../../exchange/errors.ts'
import type { ClockSkew } from '../../../exchange/read-answer.ts'
import type { Task } from '../../../exchange/task.ts'
import { type Deps, StopRun } from '../../deps.ts'
import { searchKinds } from '../../streams/kind-names.ts'
import { denialsBeforeLost, hasLasted, oneMoreDenial, resendInMs } from '../../when-to-look.ts'
import { requestOf, taskNamesOf } from '../kinds.ts'
import {
  becomeOverdue,
  callFailed,
  hasBecomeOverdue,
  logOverdue,
  moveSubmission,
  updateAsRead,
} from '../move-submission.ts'
import { wordsForRows } from '../outcomes/judge-error.ts'
import { judgeRefusal } from '../outcomes/settle-refused.ts'
import { afterReading, earliestStamp, latestStamp, type Owner, ownersOf } from './listed-tasks.ts'
import { unauthorized } from './send.ts'

/**
 * Decides what becomes of a POST whose answer was lost. While a task that may be ours is unfinished, nothing is
 * sent. Once none is, and enough time has passed for a task to be listed, the same payload goes out again: the
 * requests are upserts, so a second one after the first is harmless, while two at once are not.
 *
 * A task that may be ours is asked for by its id once it is listed no longer. Where the list does not reach back to the
 * attempt our task may have scrolled out of it unseen: then nothing is sent for `push.unlistedGraceMs`.
 *
 * Once the answers have been lost for as long as the configuration tolerates, another time will not fix it: it may be
 * over one of the rows, so the request goes on in halves.
 *
 * @throws {StopRun} when answers to a search, or to whatever is sent of a kind, go on being lost, or the list goes on
 *   being too short, for as long as the configuration tolerates, and where neither this version nor the contract file
 *   knows its kind.
 */
export async function resolveUncertain(deps: Deps, submission: Submission): Promise<void> {
  // Asked before any call: a process that does not know the kind counts nothing, and leaves the request to others.
  requestOf(deps.contract, submission.kind)
  const attemptedAt = attemptOf(submission)
  let read: ReadCandidates
  try {
    read = await readCandidates(deps, submission)
  } catch (error) {
    if (error instanceof HttpError && error.status === 401) throw unauthorized(error)
    await callFailed(deps, submission, error as Error & { code: string })
    return
  }
  const { tasks, owners, earliest, candidates } = read
  const unfinished = unfinishedOf(candidates)
  const sentAt = sentAtLatest(submission, attemptedAt)
  const isDated = sentAt >= attemptedAt
  // Of an attempt by a clock that was ahead nobody can say what came before it.
  const earlier = owners.filter(({ accepted_at: at }) => isDated && at !== null && at < attemptedAt)
  const ownEarlier = new Set(earlier.map(({ correlation_id }) => correlation_id))
  const knowsEarlier = ownEarlier.size > 0 || (await acceptedBefore(deps, attemptedAt, sentAt))
  const reading = { tasks, unfinished, ownEarlier, knowsEarlier, earliest }
  const seen = { ...afterReading(submission.listed, reading), denials: candidates.denials }
  const waitMs = waitBeforeSending(deps, submission, sentAt, seen)
  const lostSince = submission.answers_lost_since ?? deps.now()
  const tooShort = !seen.unbroken && waitMs > 0
  if (waitMs <= 0 && isLostForTooLong(deps, submission, lostSince)) {
    return await giveUpOnLostAnswers(deps, submission, lostSince)
  }
  // No run waits for one that is overdue.
  if (tooShort && submission.overdue_since === null) giveUpOnShortList(deps, submission, lostSince)
  // A list that can be read says nothing about the answers to the POST, which may go on being lost.
  const listed = {
    failures: 0,
    failing_since: null,
    answers_lost_since: lostSince,
    listed: storableJson(seen),
    skew_low_ms: lowestSkew(submission.skew_low_ms, deps.exchange.skew()),
    ...(tooShort && { error_code: 'task_list_too_short', error_message: shortListWords(submission) }),
  }

  // Only a task that runs can go on for ever: a list that is too short has a bound of its own.
  const overdue = unfinished.length > 0 && hasBecomeOverdue(deps, submission, submission.uncertain_since ?? attemptedAt)
  const written = await deps.db.transaction().execute(async (trx) => {
    if (waitMs > 0) {
      if (!(await updateAsRead(trx, submission, listed))) return false
      if (overdue) await becomeOverdue(deps, trx, submission)
      await deps.looks.atSubmissions(trx, [submission.submission_id], waitMs)
      return true
    }
    const patch = { ...listed, listed: null, overdue_since: null, repeats: submission.repeats + 1 }
    const moved = await moveSubmission(trx, submission, 'cleared', patch)
    if (moved !== null) await deps.looks.atSubmissions(trx, [submission.submission_id])
    return moved !== null
  })
  if (!written) return
  if (overdue) logOverdue(deps, submission, candidates.tasks[0]?.status ?? null)
  deps.logger.info(
    {
      run_id: submission.run_id,
      submission_id: submission.submission_id,
      candidates: candidates.tasks.map(({ correlationId, status }) => ({ correlation_id: correlationId, status })),
      list_reaches_back: seen.unbroken,
      wait_ms: waitMs,
    },
    waitMs > 0 ? 'submission_still_uncertain' : 'submission_sent_again',
  )
}

/** When a submission was last sent. Pure. */
function attemptOf({ attempted_at, planned_at }: Submission): Date {
  return attempted_at ?? planned_at
}

type ReadCandidates = { tasks: Task[]; owners: Owner[]; earliest: Date; candidates: Candidates }

/** Reads the task list for a submission whose answer was lost. @throws {HttpError} {TransportError} as calls do. */
async function readCandidates(deps: Deps, submission: Submission): Promise<ReadCandidates> {
  const tasks = await deps.exchange.getTasks()
  const earliest = earliestStamp(attemptOf(submission), submission.skew_low_ms, deps.exchange.skew())
  const owners = await ownersOf(deps.db, [
    ...tasks.map(({ correlationId }) => correlationId),
    ...(submission.listed?.candidates ?? []),
  ])
  const known = new Set(owners.map(({ correlation_id }) => correlation_id))
  const apiKeyId = await apiKeyIdOf(deps.db, submission.key_fingerprint)
  const ours = { earliest, latest: latestOf(deps, submission), apiKeyId }
  const candidates = await candidatesOf(deps, submission, tasks, known, ours)
  return { tasks, owners, earliest, candidates }
}

/** The latest stamp of a task of its newest attempt; null while nobody knows when the answer to that was lost. */
function latestOf({ config, exchange }: Deps, submission: Submission): Date | null {
  const { uncertain_since, skew_low_ms } = submission
  if (uncertain_since === null || uncertain_since < attemptOf(submission)) return null
  return latestStamp(uncertain_since, skew_low_ms, exchange.skew(), config.push.unlistedGraceMs)
}

/** Those that may go on, as far as is known. Pure. */
function unfinishedOf({ tasks, denials }: Candidates): string[] {
  const running = tasks.filter(({ phase }) => phase === 'in_flight').map(({ correlationId }) => correlationId)
  return [...running, ...Object.keys(denials)]
}

/** Tasks that may have come of a submission's lost POST and have not ended. @throws as calls do. */
export async function unfinishedCandidates(deps: Deps, submission: Submission): Promise<string[]> {
  return unfinishedOf((await readCandidates(deps, submission)).candidates)
}

/** What a task is compared with to tell whether it may be ours. */
type Ours = {
  /** The earliest that the service can have stamped it: `earliestStamp`. */
  earliest: Date
  /** The latest: `latestStamp`; null: nobody knows. */
  latest: Date | null
  /** What the service calls the key of the attempt; null while it is not known. */
  apiKeyId: string | null
}

/**
 * Whether a listed task may have come from a submission's lost POST: of its request type, or of one we do not know,
 * not submitted with another key, not older than the attempt, and not so young that it must be of something else. Pure.
 */
export function mayBeOurs(contract: Contract, submission: Submission, task: Task, ours: Ours): boolean {
  const names = requestOf(contract, submission.kind).taskName
  const others = taskNamesOf(contract).filter(({ requestType }) => requestType !== names.requestType)
  if (others.some(({ requestType }) => requestType !== '' && requestType === task.requestType)) return false
  if (task.taskKind !== null && task.requestType === null && task.taskKind !== names.kind) return false
  if (task.apiKeyId !== null && ours.apiKeyId !== null && task.apiKeyId !== ours.apiKeyId) return false
  if (task.createdAt === null) return true
  return task.createdAt >= ours.earliest && (ours.latest === null || task.createdAt <= ours.latest)
}

/**
 * Whether it was sent again since its first answer was lost, and the answers are lost still: another time will not fix
 * it. Of a time that lies ahead nobody can say what it came after. Pure but for the clock.
 */
function isLostForTooLong({ config, now }: Deps, { attempted_at: attemptedAt }: Submission, lostSince: Date): boolean {
  const sentAgain = attemptedAt !== null && attemptedAt > lostSince && attemptedAt <= now()
  return sentAgain && hasLasted(lostSince, now(), config.exchange.giveUpAfterMs)
}

/**
 * No task that may be ours runs, so the rows may be sent in other requests: those that the service copes with are
 * taken, and the others are found. A search carries none, and where the service takes nothing of a kind, whatever it
 * carries, going on would only cost the night.
 */
async function giveUpOnLostAnswers(deps: Deps, submission: Submission, lostSince: Date): Promise<void> {
  const said = submission.error_message ?? 'The answers to a submission were lost'
  const seconds = Math.round((deps.now().getTime() - lostSince.getTime()) / 1000)
  const isSearch = searchKinds.includes(submission.kind)
  if (isSearch || (await losesWhatever(deps.db, submission, lostSince))) {
    throw new StopRun(
      submission.error_code ?? 'submission_uncertain',
      `${said}. Given up after ${seconds} seconds; the next run goes on from here`,
    )
  }
  const { run_id, submission_id, repeats } = submission
  deps.logger.warn({ run_id, submission_id, repeats, code: answersLostCode, reason: said }, 'submission_answers_lost')
  const message = storableText(wordsForRows(`the answers to the request were lost for ${seconds} seconds: ${said}`))
  const refusal = { status: null, code: answersLostCode, reason: message, message }
  await judgeRefusal(deps, submission, refusal, 'answers_given_up')
}

/** Nobody can say whether our task runs, so the run stops here; a person, or time, decides. */
function giveUpOnShortList({ config, now }: Deps, submission: Submission, lostSince: Date): void {
  if (!hasLasted(lostSince, now(), config.exchange.giveUpAfterMs)) return
  throw new StopRun('task_list_too_short', shortListWords(submission))
}

function shortListWords({ submission_id: id }: Submission): string {
  return (
    `The answer to submission ${id} was lost, and the list of tasks does not reach back to when it was sent, so its task may be running unseen. ` +
    `Look for it in the web application: nightferry adopt ${id} <correlation id> says which it is, nightferry abandon ${id} that there is none. ` +
    'Otherwise it is sent again once push.unlistedGraceMs has passed'
  )
}

/** Milliseconds until the submission may be sent again, as far as is known; 0: now. */
function waitBeforeSending({ config, now }: Deps, submission: Submission, sentAt: Date, seen: ListedTasks): number {
  const lostAt = submission.uncertain_since ?? now()
  const uncertainty = {
    mayRun: seen.candidates.length > 0,
    reachesBack: seen.unbroken,
    attemptedMsAgo: now().getTime() - sentAt.getTime(),
    lostMsAgo: now().getTime() - lostAt.getTime(),
  }
  return resendInMs(uncertainty, { ...config.push, pollIntervalMs: config.exchange.pollIntervalMs })
}

/** Tasks that may be ours, as they are now; of those that the service denies, how often in a row it did. */
type Candidates = { tasks: Task[]; denials: NonNullable<ListedTasks['denials']> }

/**
 * Tasks that may be ours: listed ones, and those listed before that have not ended since. One that the service knows no
 * longer runs no longer, once it has said so often enough.
 */
async function candidatesOf(
  { contract, exchange, config, now }: Deps,
  submission: Submission,
  tasks: readonly Task[],
  known: ReadonlySet<string>,
  ours: Ours,
): Promise<Candidates> {
  const listed = tasks.filter((task) => !known.has(task.correlationId) && mayBeOurs(contract, submission, task, ours))
  const shown = new Set(tasks.map(({ correlationId }) => correlationId))
  const before = submission.listed?.candidates ?? []
  const scrolledOut = before.filter((id) => !shown.has(id) && !known.has(id))
  const asked = await Promise.all(scrolledOut.map((id) => taskOrNone(exchange, id)))
  const denied = scrolledOut.filter((_, at) => asked[at] === null)
  const denials = denied.map((id) => {
    const before = submission.listed?.denials?.[id]
    const known = before === undefined ? null : { times: before.times, at: new Date(before.at) }
    const { times, at } = oneMoreDenial(known, now(), config.exchange.pollIntervalMs)
    return [id, { times, at: at.toISOString() }] as const
  })
  return {
    tasks: [...listed, ...asked.filter((task) => task !== null)],
    denials: Object.fromEntries(denials.filter(([, { times }]) => times < denialsBeforeLost)),
  }
}

/** Null: the service says that it knows no such task. */
async function taskOrNone(exchange: Deps['exchange'], correlationId: string): Promise<Task | null> {
  try {
    return await exchange.getTask(correlationId)
  } catch (error) {
    if (saysUnknown(error)) return null
    throw error
  }
}

/** The lowest that was measured since the attempt: the service's clock may be set more than once. */
function lowestSkew(before: number | null, now: ClockSkew | null): number | null {
  if (now === null) return before
  return Math.floor(Math.min(before ?? now.lowMs, now.lowMs))
}

/** What was accepted longer ago the service may have removed, in milliseconds: a day. It says nothing of a list. */
const surelyKeptMs = 86_400_000

/**
 * Whether the service in use had taken a request of ours of late: then a list that reaches back shows one, and is not
 * empty.
 * @param sentAt the moment, or an earlier one where the clock was ahead then: what was accepted in the day before it
 *   counts as well.
 */
async function acceptedBefore({ db }: Deps, moment: Date, sentAt: Date): Promise<boolean> {
  const earlier = await db
    .selectFrom('submission')
    .innerJoin('run', 'run.run_id', 'submission.run_id')
    .select('submission_id')
    .where('accepted_at', '<', moment)
    .where('accepted_at', '>', new Date(sentAt.getTime() - surelyKeptMs))
    .where('destination_id', '=', sql<number>`destination_in_use()`)
    .limit(1)
    .executeTakeFirst()
  return earlier !== undefined
}

/** Two processes read one clock at moments that differ by less. Milliseconds. */
const readingsDifferMs = 2_000

/** From when a submission waits for something. */
const waitsFrom = ['uncertain_since', 'answers_lost_since', 'failing_since', 'accepted_at'] as const

/**
 * Of a submission that waits from a moment which lies ahead, puts now in the place of that moment: our database's clock
 * was put back since, and reckoned by the old one the wait would last until the clock has caught up. When it was sent
 * stays as it is: that is compared with stamps of the service, by how far the two clocks were apart then.
 *
 * Under the submission's lock, before anything is reckoned.
 * @returns the submission as it is by then.
 */
export async function dateWaits(deps: Deps, submission: Submission): Promise<Submission> {
  const { db, logger, now } = deps
  const at = now()
  const ahead = waitsFrom.filter((column) => {
    const since = submission[column]
    return since !== null && since.getTime() - at.getTime() > readingsDifferMs
  })
  if (ahead.length === 0) return submission
  const dated = Object.fromEntries(ahead.map((column) => [column, at]))
  if (!(await db.transaction().execute((trx) => updateAsRead(trx, submission, dated)))) return submission
  const { run_id, submission_id } = submission
  logger.warn({ run_id, submission_id, ahead }, 'submission_dated_ahead')
  return { ...submission, ...dated }
}

/**
 * From when the wait of a submission whose answer was lost is reckoned: from its attempt, or from when the loss was
 * found if the attempt is dated later, because the clock was ahead then. Pure.
 */
function sentAtLatest({ uncertain_since }: Pick<Submission, 'uncertain_since'>, attemptedAt: Date): Date {
  return uncertain_since !== null && uncertain_since < attemptedAt ? uncertain_since : attemptedAt
}
