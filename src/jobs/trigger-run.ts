import type { Transaction } from 'kysely'
import { forgetWaiting, isPaused, lockPause } from '../db/runs/job-requests.ts'
import {
  adoptUnfinished,
  insertRun,
  isAskedAlike,
  runInTheWay,
  runningRun,
  runningRuns,
  verbOfRun,
} from '../db/runs/run-life.ts'
import type { Schema } from '../db/tables/database-schema.ts'
import type { Run, RunAsked, RunTrigger } from '../db/tables/run-tables.ts'
import { unfinishedStates } from '../db/tables/submission-tables.ts'
import { given } from '../given.ts'
import { watermarkOf } from '../pipeline/delta/landing/stream-reading.ts'
import { earlierCursor } from '../pipeline/delta/where-to-read.ts'
import type { Deps } from '../pipeline/deps.ts'
import { searchKinds } from '../pipeline/streams/kind-names.ts'
import { streamNamesOf } from '../pipeline/streams/our-streams.ts'
import { type Job, sendsRows, stepsOf } from './job.ts'
import { jobsOf, noJobWords } from './known-jobs.ts'

/** A run that was asked for does not begin; `job_busy` passes by itself. */
export class JobRefused extends Error {
  readonly code: 'job_unknown' | 'job_option_refused' | 'job_paused' | 'job_busy'
  constructor(code: JobRefused['code'], message: string) {
    super(message)
    this.name = 'JobRefused'
    this.code = code
  }
}

/** A stream whose watermark lies before the moment from which a run is to read: it is read from there on. */
type OlderWatermark = { stream: string; watermark: string }

/** `alike`: only a run that was asked for in the same way; `any`: also one that was not. */
type Joins = 'any' | 'alike'

type Asked = { trigger: RunTrigger; by: string; only?: string[]; streams?: string[]; since?: string; joins?: Joins }

/**
 * Starts a run of a job for somebody who asks for it by name, or joins the one that is under way, which goes on as it
 * was asked for: that is told with `joined`.
 * @param asked.only the steps that are wanted; what a step cannot do without is done too.
 * @param asked.streams what is read and sent is theirs alone.
 * @param asked.since a cursor, a date or time, or a time ago (`3d`): rows are read again from there on.
 * @param asked.joins `alike` for somebody who takes the run's end for that of what was asked for.
 * @returns with `olderWatermarks` the streams that are read from before `since` on anyway, because nothing was read of
 *   them since.
 * @throws {JobRefused} when there is no such job, it cannot do what is asked, it is paused, or a run of another job
 *   that works with the ledger, or one that may not be joined, has to end first.
 */
export async function triggerJob(
  deps: Deps,
  jobName: string,
  { trigger, by, only, streams, since, joins = 'any' }: Asked,
): Promise<{ run: Run; joined: boolean; olderWatermarks: OlderWatermark[] }> {
  const job = findJob(deps, jobName)
  if (only !== undefined) checkSteps(job, only)
  const asked: RunAsked = given({ only, streams, since })
  const reads = streams !== undefined || since !== undefined
  const olderWatermarks = reads ? await checkReading(deps, job, asked) : []
  const started = await triggerRun(deps, job, trigger, deps.now(), { asked, by, joins })
  if (started !== null) {
    const { run, resumed: joined } = started
    if (!joined) for (const older of olderWatermarks) deps.logger.info({ ...older, since }, 'watermark_before_since')
    return { run, joined, olderWatermarks: joined ? [] : olderWatermarks }
  }
  const other = await runInTheWay(deps.db, job.name)
  if (other === undefined && (await isPaused(deps.db, job.name))) {
    throw new JobRefused('job_paused', `${job.name} is paused; nightferry jobs resume ${job.name} lets it start again`)
  }
  const what = other === undefined ? 'A run of another job' : `Run ${other.run_id} of ${other.job}`
  const isKnown = other === undefined || jobsOf(deps.config).some(({ name }) => name === other.job)
  const help = isKnown
    ? ''
    : '. This configuration has no such job: a daemon that is started (nightferry serve) ends the run, unless another process knows the job'
  throw new JobRefused('job_busy', `${what} is under way, and ${job.name} has to wait until it has ended${help}`)
}

/**
 * The job of a name.
 * @throws {JobRefused} naming those that there are.
 */
export function findJob({ config }: Pick<Deps, 'config'>, name: string): Job {
  const job = jobsOf(config).find((known) => known.name === name)
  if (job !== undefined) return job
  throw new JobRefused('job_unknown', noJobWords(config, name))
}

/**
 * Streams and a beginning are for runs that read the partner's rows.
 * @returns the streams whose watermark lies before the beginning.
 */
async function checkReading({ config, contract, db, now }: Deps, job: Job, asked: RunAsked): Promise<OlderWatermark[]> {
  const refuse = (why: string) => {
    throw new JobRefused('job_option_refused', why)
  }
  if (!stepsOf(job, asked).some(({ name }) => name === 'extract')) {
    const readers = jobsOf(config).filter(({ steps }) => steps.some(({ name }) => name === 'extract'))
    const names = readers.map(({ name }) => name).join(' and ')
    const whose = names === '' ? ', which a configuration without streams has no job for' : `, of ${names}`
    refuse(`--stream and --since are for runs with the step extract${whose}; this one reads no stream`)
  }
  const read = streamNamesOf(contract).filter((name) => config.streams[name])
  const unknown = asked.streams?.find((name) => !read.includes(name))
  if (unknown !== undefined) refuse(`No stream ${unknown} is configured; there are ${read.join(', ')}`)
  const { since } = asked
  if (since === undefined) return []
  const older: OlderWatermark[] = []
  for (const stream of asked.streams ?? read) {
    const before = await db.transaction().execute((trx) => watermarkOf(trx, stream))
    const from = earlierCursor(before, since, now())
    if (from.kind === 'no value') {
      refuse(`--since ${since} is no cursor: give a time ago (3d), a date or time (2026-11-20T06:00Z), or a number`)
    } else if (from.kind === 'other type') {
      refuse(`--since ${since} is no value of the cursor of ${stream}, which stands at ${from.watermark}`)
    } else if (from.kind === 'not earlier' && config.streams[stream]?.capture === 'cursor') {
      older.push({ stream, watermark: from.watermark })
    } else if (from.kind === 'no order') {
      refuse(`The cursor of ${stream} is text (${from.watermark}), and --since cannot tell what comes before it`)
    }
  }
  return older
}

/**
 * Checks that a job has the steps, or parts of steps, that somebody asks for.
 * @throws {JobRefused} naming those that there are.
 */
export function checkSteps({ name, steps }: Job, only: readonly string[]): void {
  const names = steps.flatMap((step) => [step.name, ...(step.parts ?? [])])
  const unknown = only.find((step) => !names.includes(step))
  if (only.length > 0 && unknown === undefined) return
  const what = unknown === undefined ? 'No step is named' : `${name} has no step ${unknown}`
  const shown = steps.map((step) => (step.parts === undefined ? step.name : `${step.name} (${step.parts.join(', ')})`))
  throw new JobRefused('job_option_refused', `${what}; its steps are ${shown.join(', ')}`)
}

type Triggered = { run: Run; resumed: boolean }

/**
 * Starts a run of a job, or goes on with the one that is under way: interrupted or not, every look it may be
 * waiting for is asked for again, which harms nothing where somebody is at work.
 *
 * @param what.asked what the run is to do, stored with it: anyone who goes on with it goes on as asked.
 * @returns null when the scheduled occurrence was taken before and nothing of the job is running, when a run of
 * another job has to end first, or when the job is paused.
 * @throws {JobRefused} when the run that is under way may not be joined; it was not asked for anything then.
 */
export async function triggerRun(
  deps: Deps,
  job: Job,
  trigger: RunTrigger,
  scheduledFor: Date,
  { asked = {}, by = null, joins = 'any' }: { asked?: RunAsked; by?: string | null; joins?: Joins } = {},
): Promise<Triggered | null> {
  const started = await deps.db.transaction().execute(async (trx) => {
    await lockPause(trx, job.name)
    if (await isPaused(trx, job.name)) return null
    const run = await insertRun(trx, {
      job: job.name,
      trigger,
      scheduledFor,
      firstStep: stepsOf(job, asked)[0]?.name ?? job.steps[0].name,
      asked,
      askedBy: by,
    })
    if (run === null) return null
    await forgetWaiting(trx, job.name)
    if (job.name !== 'housekeeping') await adoptUnfinished(trx, run.run_id, searchKinds, sendsRows(job, asked))
    await lookAtEverything(deps, trx, run)
    return run
  })
  const run = started ?? (await runningRun(deps.db, job.name))
  if (run === undefined) return null
  if (started === null) {
    if (joins === 'alike' && !isAskedAlike(run.asked, asked)) throw askedOtherwise(run)
    await resume(deps, run)
  }
  deps.logger.info({ run_id: run.run_id, job: job.name, trigger }, started ? 'run_started' : 'run_resumed')
  return { run, resumed: started === null }
}

function askedOtherwise(run: Run): JobRefused {
  const goesOn = `${verbOfRun(run)} goes on with it`
  return new JobRefused(
    'job_busy',
    `Run ${run.run_id} is under way, which was asked for otherwise: ${goesOn}; ask again when it has ended`,
  )
}

/**
 * Goes on with what was interrupted. The run of a job that is not among these keeps every other job from the ledger
 * until a look finds that no process knows its job, and of a ledger that was restored from a backup no look is left:
 * so looks at it are asked for, too.
 * @returns the jobs that only such runs know.
 */
export async function resumeInterrupted(deps: Deps, jobs: readonly Job[]): Promise<string[]> {
  const unknown: string[] = []
  for (const run of await runningRuns(deps.db)) {
    const job = jobs.find(({ name }) => name === run.job)
    if (job !== undefined) await triggerRun(deps, job, run.trigger, run.scheduled_for)
    else {
      await resume(deps, run)
      deps.logger.warn({ run_id: run.run_id, job: run.job }, 'run_of_unknown_job')
      unknown.push(run.job)
    }
  }
  return unknown
}

async function resume(deps: Deps, run: Run): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    await trx
      .updateTable('run')
      .set((eb) => ({ resumed: eb('resumed', '+', 1) }))
      .where('run_id', '=', run.run_id)
      .execute()
    await lookAtEverything(deps, trx, run)
  })
}

/** Asks for every look that a run may be waiting for: at the run, its unfinished requests and its pages. */
export async function lookAtEverything(deps: Deps, trx: Transaction<Schema>, run: Run): Promise<void> {
  const submissions = await trx
    .selectFrom('submission')
    .select('submission_id')
    .where('run_id', '=', run.run_id)
    .where('state', 'in', unfinishedStates)
    .execute()
  const pages = await trx
    .selectFrom('search_page')
    .innerJoin('submission', 'submission.submission_id', 'search_page.submission_id')
    .select('page_id')
    .where('run_id', '=', run.run_id)
    .where('search_page.state', '=', 'listed')
    .execute()
  await deps.looks.atRun(trx, run.run_id)
  await deps.looks.atSubmissions(
    trx,
    submissions.map(({ submission_id }) => submission_id),
  )
  await deps.looks.atPages(
    trx,
    pages.map(({ page_id }) => page_id),
  )
}
