import { jobStandings, pauseJob, resumeJob } from '../../jobs/job-standings.ts'
import { jobsOf, noJobWords } from '../../jobs/known-jobs.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { moment, readable } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { actingUser, withDatabase } from '../with-database.ts'

/** `nightferry jobs`: what starts when, and how it went last. */
export async function jobs(cli: Cli, options: CommonOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }, config) => {
    const standing = await jobStandings(db, config, cli.now())
    if (options.json) {
      printJson(cli.stdout, standing)
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      table(
        ['job', 'schedule', 'next (local)', 'next (UTC)', 'last run', 'started (UTC)', 'state', 'paused'],
        standing.jobs.map(({ job, schedule, time_zone, next, paused, last_run: last }) => [
          job,
          schedule === null ? 'by hand' : `${schedule} ${time_zone}`,
          next === null ? '–' : localTime(next, time_zone),
          moment(next),
          last?.run_id ?? '–',
          moment(last?.started_at ?? null),
          last === null ? '–' : stateWords(last),
          paused === null
            ? ''
            : readable(`by ${paused.paused_by}${paused.reason === null ? '' : `: ${paused.reason}`}`),
        ]),
      ),
    )
    const { oldest_unaccepted_since: oldest } = standing
    if (oldest !== null) printLine(cli.stdout, `The oldest change not accepted is of ${moment(oldest)} UTC.`)
    return exitCodes.well
  })
}

type LastRun = NonNullable<Awaited<ReturnType<typeof jobStandings>>['jobs'][number]['last_run']>

function stateWords({ state, step, verdict, destination }: LastRun): string {
  const stands = state === 'running' ? `at ${step}` : (verdict ?? state)
  return destination === null ? stands : `${stands}, for ${destination}`
}

function localTime(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(at)
}

type PauseOptions = CommonOptions & { reason?: string }

/** `nightferry jobs pause <job>`: nothing starts the job until it is resumed. */
export async function pause(cli: Cli, job: string, options: PauseOptions): Promise<ExitCode> {
  return await change(cli, job, options, 'paused', 'is paused already')
}

/** `nightferry jobs resume <job>`: the job may start again. */
export async function resume(cli: Cli, job: string, options: CommonOptions): Promise<ExitCode> {
  return await change(cli, job, options, 'resumed', 'is not paused')
}

async function change(
  cli: Cli,
  job: string,
  options: PauseOptions,
  to: 'paused' | 'resumed',
  already: string,
): Promise<ExitCode> {
  return await withDatabase(
    cli,
    options,
    async ({ db }, config) => {
      const names = jobsOf(config).map(({ name }) => name)
      if (!names.includes(job)) throw new UsageError(noJobWords(config, job))
      const by = { actor: actingUser(cli), at: cli.now() }
      const reason = options.reason ?? null
      const changed = to === 'paused' ? await pauseJob(db, job, { ...by, reason }) : await resumeJob(db, job, by)
      if (options.json) printJson(cli.stdout, { job, [to]: true, changed })
      else printLine(cli.stdout, changed ? `${job} is ${to}.` : `${job} ${already}.`)
      return exitCodes.well
    },
    'write',
  )
}
