import { ConfigError } from '../config/environment.ts'
import { carriesData, night } from '../config/known-names.ts'
import type { Config } from '../config/schema.ts'
import type { JobPause } from '../db/runs/job-requests.ts'
import { carriedThrough, isPart, type RunElsewhere } from '../db/runs/newest-runs.ts'
import { verbOfRun } from '../db/runs/run-life.ts'
import type { Run } from '../db/tables/run-tables.ts'
import { elsewhereWords, minuteOf } from '../pipeline/report/report-words.ts'
import { advice, error, type Found, ok, warning } from './ward.ts'

/** A job's schedule, and its next occurrence: null where there is none, or why there can be none. */
type Scheduled = { job: string; setting: Config['jobs']['nightly-sync']; next: Date | null | Error }

/**
 * The schedules of all jobs: without any that carries data no data are carried by themselves, and what is carried grows
 * old without housekeeping. Of another job that has none nothing is said. Pure.
 * @param carrying the jobs that carry the data, or would if they had a schedule.
 */
export function judgeSchedules(jobs: readonly Scheduled[], carrying: readonly string[] = [night]): Found[] {
  const found = jobs.flatMap(({ job, setting: { schedule, timeZone }, next }) => {
    if (next === null) return []
    if (next instanceof Error) {
      const setting = job.startsWith('search:') ? `the schedule of ${job} in pull.searches` : `jobs.${job}.schedule`
      const why = next instanceof ConfigError ? next.problems.map(({ message }) => message).join('; ') : next.message
      return [error(`${setting} cannot be used: ${why}`, `fix ${setting}, such as "30 2 * * *"`)]
    }
    return [ok(`The next run of ${job} is due ${minuteOf(next)} UTC (${schedule} in ${timeZone})`)]
  })
  const isScheduled = (of: (job: string) => boolean) => jobs.some(({ job, next }) => of(job) && next !== null)
  if (!isScheduled(carriesData)) {
    const all = found.length === 0 ? 'There is no schedule' : 'No job that carries data has a schedule'
    const todo = `set jobs.${carrying[0]}.schedule, and keep nightferry serve running`
    return [...found, advice(`${all}: runs begin by hand alone`, todo)]
  }
  if (isScheduled((job) => job === 'housekeeping')) return found
  return [
    ...found,
    advice(
      'housekeeping has no schedule: what is older than it has to be kept is not removed',
      'set jobs.housekeeping.schedule, such as "0 12 * * 0"',
      'housekeeping',
    ),
  ]
}

/** A scheduled run begins within a tick or two of its time. */
const graceMs = 180_000

type Due = {
  job: string
  /** The newest occurrence that has fallen due. */
  due: Date | null
  now: Date
  /** Since when the schedule has been in force; null: no daemon has noted it. */
  since: Date | null
  /** Newest first. */
  runs: readonly Pick<Run, 'run_id' | 'trigger' | 'state' | 'scheduled_for'>[]
  /** What becomes of an occurrence that was missed. */
  missed?: Config['jobs']['nightly-sync']['missed']
  /** Connections of processes that carry rows. */
  atWork: number
  /** Of a job that nothing starts until a person resumes it. */
  pause?: Pause | undefined
}

type Pause = Pick<JobPause, 'paused_by' | 'paused_at' | 'reason'>

/** Whether what fell due happened, and whether anybody is there for the next. Pure. */
export function judgeMissed({ job, due, now, since, runs, missed = 'once', atWork, pause }: Due): Found[] {
  if (due === null) return [ok('Nothing falls due by itself')]
  if (pause !== undefined) {
    const why = pause.reason === null ? '' : ` (${pause.reason})`
    return [
      warning(
        `${job} was paused by ${pause.paused_by} ${minuteOf(pause.paused_at)} UTC${why}: nothing starts it`,
        `nightferry jobs resume ${job}`,
      ),
    ]
  }
  const scheduled = runs.filter(({ trigger }) => trigger === 'schedule' || trigger === 'missed')
  const found: Found[] = []
  // A night that does not begin is worse than old rows that stay, which init has scheduled to be removed.
  const missing = carriesData(job) ? warning : advice
  if (atWork === 0)
    found.push(
      missing(
        `Runs of ${job} fall due by schedule, and no process that could start them is connected`,
        'nightferry serve (docs/service.md)',
      ),
    )
  const skipped = scheduled.filter(({ state }) => state === 'skipped')
  if (skipped.length > 0) {
    found.push(
      advice(
        `${skipped.length} of the last ${runs.length} runs of ${job} fell due while no process was up or the job was paused, and were skipped`,
        `keep nightferry serve running; missed of ${job}: once makes up for the last of them, also once the job is resumed`,
      ),
    )
  }
  // Later ones were decided by a clock that was ahead.
  const last = scheduled.find(({ scheduled_for }) => scheduled_for <= now)?.scheduled_for ?? null
  const late = now.getTime() - due.getTime() > graceMs
  const begun = last !== null && last >= due
  // Where neither is known, nobody can tell since when there has been a schedule.
  if (!begun && due > (since ?? last ?? due) && late) {
    found.push(
      missing(
        `The run of ${job} that fell due ${minuteOf(due)} UTC has not begun`,
        missed === 'skip'
          ? `nightferry run ${job}; nightferry serve begins what fell due while it was up, and skips what was missed`
          : `nightferry serve catches up, or nightferry run ${job}`,
      ),
    )
  }
  return found.length > 0
    ? found
    : [
        ok(
          begun
            ? `The run of ${job} that fell due ${minuteOf(due)} UTC has begun`
            : `No run of ${job} was due yet that could have been missed`,
        ),
      ]
}

type LastRun = Pick<
  Run,
  'run_id' | 'state' | 'verdict' | 'failure' | 'started_at' | 'finished_at' | 'held' | 'carried' | 'asked'
>

const dayMs = 86_400_000

/**
 * How the newest runs of a job went. Pure.
 * @param runs those for the destination in use, newest first.
 * @param elsewhere the newest for another destination, to be named where there are none.
 * @param due the newest occurrence that a run had a day for since; null where there is none, as without a schedule.
 * @param waiting the runs whose plans still wait to be approved.
 */
export function judgeLastRuns(
  job: string,
  runs: readonly LastRun[],
  {
    atWork,
    now,
    due,
    elsewhere = null,
    waiting,
  }: Pick<Due, 'atWork' | 'now' | 'due'> & { elsewhere?: RunElsewhere | null; waiting: readonly number[] },
): Found[] {
  const last = runs.find(({ state }) => state !== 'skipped')
  if (last === undefined && elsewhere !== null) return [ok(elsewhereWords(` of ${job}`, elsewhere))]
  if (last === undefined) return [ok(`There was no run of ${job} yet`)]
  const found: Found[] = []
  if (last.state === 'running' && atWork === 0) {
    found.push(
      warning(
        `Run ${last.run_id} is under way since ${minuteOf(last.started_at)} UTC, and no process works on it`,
        `${verbOfRun({ job, asked: last.asked })} goes on with it`,
      ),
    )
  } else if (last.state === 'running')
    found.push(ok(`Run ${last.run_id} is under way since ${minuteOf(last.started_at)} UTC`))
  const ended = runs.find((run) => !isPart(run) && (run.state === 'finished' || run.state === 'failed'))
  // A later run that read a stream again, in part or for another job, has put the plan aside and left its own.
  const waits = waiting.find((run) => run === ended?.run_id) ?? waiting.find((run) => run > (ended?.run_id ?? 0))
  if (ended?.state === 'failed') {
    found.push(
      error(
        `Run ${ended.run_id} failed: ${ended.failure?.code}: ${ended.failure?.message}`,
        `docs/errors.md explains ${ended.failure?.code}; nightferry runs`,
      ),
    )
  } else if (ended?.verdict === 'failed') {
    found.push(
      error(`Run ${ended.run_id} failed: its counts do not add up`, 'nightferry status; its report says which'),
    )
  } else if (ended?.held) {
    found.push(
      warning(
        `Run ${ended.run_id} was stopped by the guard before it sent anything${waits === undefined ? ', and nothing waits for approval any more' : ''}`,
        waits === undefined ? `nightferry run ${job}` : `nightferry approve ${waits} --dry-run`,
      ),
    )
  } else if (ended?.verdict === 'partial') {
    found.push(
      warning(`Run ${ended.run_id} finished, and something needs a person`, 'nightferry status; its report says what'),
    )
  } else if (ended !== undefined)
    found.push(ok(`Run ${ended.run_id} ended well, ${minuteOf(ended.finished_at ?? ended.started_at)} UTC`))
  const well = runs.find(
    (run) => !isPart(run) && run.state === 'finished' && run.verdict !== 'failed' && carriedThrough(run),
  )
  const since = well?.finished_at ?? null
  const old = since === null || (now.getTime() - since.getTime() > 2 * dayMs && (due === null || since < due))
  if (ended !== undefined && old) {
    const words =
      since === null
        ? `None of the last ${runs.length} runs of ${job} carried the data through`
        : `No run of ${job} has carried the data through since ${minuteOf(since)} UTC`
    found.push(warning(words, `nightferry run ${job}`))
  }
  return found
}
