import type { Config } from '../../config/schema.ts'
import type { Database } from '../../db/database.ts'
import { latestRuns, newestElsewhere, newestEnded, newestRuns } from '../../db/runs/newest-runs.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import { elsewhereWords } from '../../pipeline/report/report-words.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, UsageError } from '../cli.ts'
import { moment } from '../show/readable.ts'
import { endDocument, renderEnd } from '../show/render-report.ts'
import { withDatabase } from '../with-database.ts'

export type ReportOptions = CommonOptions & { job?: string }

/**
 * `nightferry report [run]`: the report of a run that has ended, as `nightferry run` prints it; of one that failed, its
 * failure.
 */
export async function report(cli: Cli, runId: number | undefined, options: ReportOptions): Promise<ExitCode> {
  const { job } = options
  if (runId !== undefined && job !== undefined) throw new UsageError('A run and --job: choose one')
  return await withDatabase(cli, options, async ({ db }, config) => {
    const run = runId === undefined ? await newest(db, job ?? null) : await runNamed(db, runId)
    requireReport(run, config)
    if (options.json) printJson(cli.stdout, endDocument(run))
    else cli.stdout.write(renderEnd(run))
    return exitCodes.well
  })
}

async function runNamed(db: Database, runId: number): Promise<Run> {
  const [run] = await newestRuns(db, 1, { before: runId + 1, reports: 'whole' })
  if (run?.run_id === runId) return run
  throw new UsageError(
    `There is no run ${runId}, or not any more: nightferry runs lists those that there are, and housekeeping removes old ones.`,
  )
}

/** @param job null: of any that works with the ledger. */
async function newest(db: Database, job: string | null): Promise<Run> {
  const run = await newestEnded(db, job)
  if (run !== undefined) return run
  const jobs = (await latestRuns(db)).map((latest) => latest.job)
  if (job !== null && !jobs.includes(job)) {
    const there = jobs.length === 0 ? 'there was none of any job' : `there were runs of ${jobs.join(', ')}`
    throw new UsageError(`There was no run of ${job} yet; ${there}.`)
  }
  const elsewhere = await newestElsewhere(db, job)
  if (elsewhere === null) throw new UsageError(`No run${job === null ? '' : ` of ${job}`} has ended yet.`)
  const which = `nightferry report ${elsewhere.run_id} prints the report of that.`
  throw new UsageError(`${elsewhereWords(job === null ? '' : ` of ${job}`, elsewhere)}. ${which}`)
}

/** @throws {UsageError} that says why a run has neither a report nor a failure. */
function requireReport({ run_id, job, state, step, verdict, finished_at, report: kept }: Run, config: Config): void {
  const run = `Run ${run_id} of ${job}`
  if (state === 'running') {
    throw new UsageError(
      `${run} is under way at the step ${step}: nightferry status shows how far it is. It has a report once it has ended.`,
    )
  }
  if (state === 'skipped') {
    throw new UsageError(`${run} was skipped: it fell due, and nothing was begun. It has no report.`)
  }
  if (state === 'finished' && kept === null) {
    throw new UsageError(
      `The report of run ${run_id} is not kept any more: housekeeping removes it after housekeeping.keepReportsDays (${config.housekeeping.keepReportsDays}). ${run} ended ${moment(finished_at)} UTC, ${verdict}; nightferry submissions --run ${run_id} lists what it sent.`,
    )
  }
}
