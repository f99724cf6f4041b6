import type { JobWithMetadata } from 'pg-boss'
import { storableText } from '../db/copy-text.ts'
import { withRemedy } from '../db/database-trouble.ts'
import { isOtherKeyAtWork } from '../db/service-key/keys-at-work.ts'
import type { RunTrigger } from '../db/tables/run-tables.ts'
import { AnswerFormatError, proxyDeniedCode, saysUnknown } from '../exchange/errors.ts'
import { type Deps, StopRun, type Yields } from '../pipeline/deps.ts'
import { checkDestination } from '../pipeline/destination/check-destination.ts'
import { keyFingerprint } from '../pipeline/gate/shared-gate.ts'
import { retriesWithin } from '../pipeline/when-to-look.ts'
import { stopRun } from './look-at-run.ts'

export const queues = { run: 'look-at-run', submission: 'look-at-submission', page: 'look-at-page' } as const

/**
 * `insist`: set on a look that was handed out again, whose lock a dead process may have.
 * `timer`: set on a look that was put off; void once a newer one was.
 */
export type LookData = { id: number; insist?: boolean; timer?: number }

/** Answers false when another look was at work and nothing was done. */
export type Look = (id: number, timer?: number) => Promise<boolean>

export type GuardOptions = {
  /** What this process leaves to others of a run; nothing where it is not given. */
  yields?: (runId: number) => Yields
  /** Called once this process has ended a run, well or not. It must not throw. */
  runEnded?: (runId: number) => Promise<void>
}

/**
 * Runs a look. What stops the run ends it, unless it is left to another process; anything else is tried again by the
 * queue, and ends the run at last.
 */
export async function guardedLook(
  deps: Deps,
  queue: string,
  job: JobWithMetadata<LookData>,
  look: Look,
  { yields, runEnded }: GuardOptions,
): Promise<boolean> {
  let checking = false
  try {
    await deps.readClock?.()
    // Another process may be configured for another destination, or this one was while the run was interrupted.
    checking = true
    await checkDestination(deps)
    checking = false
    return await look(job.data.id, job.data.timer)
  } catch (caught) {
    const error = withRemedy(caught)
    const run = await runBehind(deps, queue, job.data.id)
    const leave = run !== undefined && (await isLeft(deps, error, checking, yields?.(run.run_id) ?? 'nothing'))
    // A look of an earlier version or configuration has the limit of its time.
    const last = Math.min(retriesWithin(deps.config.exchange.giveUpAfterMs), job.retryLimit)
    const final = (!leave && isFinal(error, run?.trigger)) || job.retryCount >= last
    deps.logger[final ? 'error' : 'warn'](
      { queue, id: job.data.id, attempt: job.retryCount + 1, error: describe(error) },
      'look_failed',
    )
    // The queue keeps what is thrown: its message alone, as Postgres can store it; causes may contain anything.
    if (!final) throw new LookFailed(storableText(describe(error).message))
    if (run !== undefined) {
      const ended = await stopRun(deps, run, error, await submissionBehind(deps, queue, job.data.id))
      if (ended) await runEnded?.(run.run_id)
    }
    return true
  }
}

class LookFailed extends Error {}

/**
 * Whether another process may do what this one cannot. A key that is refused says nothing of another with which one
 * works; where there is none, waiting would help nobody.
 */
async function isLeft({ db, required }: Deps, error: unknown, checking: boolean, yields: Yields): Promise<boolean> {
  const { code } = error as { code?: unknown }
  if (yields === 'all') return true
  if (code === 'exchange_unauthorized') {
    return await isOtherKeyAtWork(db, keyFingerprint(required.apiKey, required.baseUrl))
  }
  return yields === 'foreign' && (checking || ofOthers.has(code))
}

/** What this process cannot do, and one of another configuration or version may. */
const ofOthers = new Set<unknown>([
  'config_invalid',
  'destination_changed',
  'job_unknown',
  'step_unknown',
  'kind_unknown',
  'lookup_unusable',
  'partner_driver_missing',
])

/** Errors whose cause a person has to fix: another attempt in a minute would end the same way. */
const finalCodes = new Set([
  'exchange_unauthorized',
  'exchange_forbidden',
  'exchange_not_found',
  'exchange_refused',
  proxyDeniedCode,
  'partner_query_failed',
  'partner_query_too_slow',
  'partner_driver_missing',
  'partner_snapshot_off',
  'partner_too_old',
  'database_permission_denied',
])

/**
 * Somebody waits at a terminal for a run that a verb started, so it says at once that a server cannot be reached, or
 * that its disk is full.
 */
const finalByHand = new Set([
  'exchange_unreachable',
  'exchange_failed',
  'exchange_throttled',
  'exchange_answer_malformed',
  'partner_unreachable',
  'disk_full',
  'database_read_only',
])

function isFinal(error: unknown, trigger: RunTrigger | undefined): boolean {
  const { code } = error as { code?: unknown }
  if (error instanceof StopRun || (error instanceof AnswerFormatError && error.tooLong)) return true
  // A gateway does not find the service while that restarts behind it.
  if (code === 'exchange_not_found' && !saysUnknown(error)) return trigger === 'cli'
  return typeof code === 'string' && (finalCodes.has(code) || (trigger === 'cli' && finalByHand.has(code)))
}

function describe(error: unknown): { code: unknown; message: string; stack: string | undefined } {
  const { code, message, stack } = error as { code?: unknown; message?: string; stack?: string }
  return { code, message: message ?? String(error), stack }
}

async function runBehind(deps: Deps, queue: string, id: number) {
  const runs = deps.db.selectFrom('run').select(['run.run_id', 'run.step', 'run.trigger'])
  if (queue === queues.run) return await runs.where('run.run_id', '=', id).executeTakeFirst()
  const bySubmission = runs.innerJoin('submission', 'submission.run_id', 'run.run_id')
  if (queue === queues.submission) return await bySubmission.where('submission_id', '=', id).executeTakeFirst()
  return await bySubmission
    .innerJoin('search_page', 'search_page.submission_id', 'submission.submission_id')
    .where('page_id', '=', id)
    .executeTakeFirst()
}

/** The submission that a look was at, or whose page; none for a look at a run. */
async function submissionBehind({ db }: Deps, queue: string, id: number) {
  const submissions = db
    .selectFrom('submission')
    .select(['submission.submission_id', 'submission.kind', 'submission.state', 'submission.correlation_id'])
    .select('submission.uncertain_since')
  if (queue === queues.submission) return await submissions.where('submission_id', '=', id).executeTakeFirst()
  if (queue !== queues.page) return undefined
  return await submissions
    .innerJoin('search_page', 'search_page.submission_id', 'submission.submission_id')
    .where('page_id', '=', id)
    .executeTakeFirst()
}
