import type { Transaction } from 'kysely'
import { forgetWaiting, isPaused, lockPause } from '../db/runs/job-requests.ts'
import { adoptUnfinished, insertRun, runningRun } from '../db/runs/run-life.ts'
import type { Schema } from '../db/tables/database-schema.ts'
import type { Run, RunAsked, RunTrigger } from '../db/tables/run-tables.ts'
import type { Deps } from '../pipeline/deps.ts'
import { unfinishedStates } from '../pipeline/push/submission-state.ts'
import { searchKinds } from '../pipeline/streams/kind-names.ts'
import { type Job, sendsRows, stepsOf } from './job.ts'

type Triggered = { run: Run; resumed: boolean }

/**
 * Starts a run of a job, or goes on with the one that is under way: interrupted or not, every look it may be
 * waiting for is asked for again, which harms nothing where somebody is at work.
 *
 * @param what.asked what the run is to do, stored with it: anyone who goes on with it goes on as asked.
 * @returns null when the scheduled occurrence was taken before and nothing of the job is running, when a run of
 * another job has to end first, or when the job is paused.
 */
export async function triggerRun(
  deps: Deps,
  job: Job,
  trigger: RunTrigger,
  scheduledFor: Date,
  { asked = {}, by = null }: { asked?: RunAsked; by?: string | null } = {},
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
  if (started === null) await resume(deps, run)
  deps.logger.info({ run_id: run.run_id, job: job.name, trigger }, started ? 'run_started' : 'run_resumed')
  return { run, resumed: started === null }
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
