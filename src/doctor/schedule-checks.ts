import type { Selectable } from 'kysely'
import { ConfigError } from '../config/environment.ts'
import { carryingJobs, night } from '../config/known-names.ts'
import type { Config } from '../config/schema.ts'
import { type JobPause, pausedJobs } from '../db/runs/job-requests.ts'
import { scheduleSince } from '../db/runs/job-schedule.ts'
import { isPart, newestNotifications, newestRuns } from '../db/runs/newest-runs.ts'
import { verbOfRun } from '../db/runs/run-asked.ts'
import type { NotificationTable } from '../db/tables/job-tables.ts'
import type { Run } from '../db/tables/run-tables.ts'
import { systemLookup } from '../exchange/download-address.ts'
import { dueOccurrence, nextOccurrence } from '../jobs/due-occurrence.ts'
import { jobsOf, scheduleOf } from '../jobs/known-jobs.ts'
import { channelsOf, mayBeOver } from '../pipeline/notify/channels.ts'
import { minuteOf } from '../pipeline/report/report-words.ts'
import { connectionsAtWork } from './own-database-checks.ts'
import { advice, type Check, error, type Found, ok, on, warning } from './ward.ts'

/** A job's schedule, and its next occurrence: null where there is none, or why there can be none. */
type Scheduled = { job: string; setting: Config['jobs']['nightly-sync']; next: Date | null | Error }

/** The schedules of all jobs. Without any nothing happens by itself; of a job that has none nothing is said. Pure. */
export function judgeSchedules(jobs: readonly Scheduled[]): Found[] {
  const found = jobs.flatMap(({ job, setting: { schedule, timeZone }, next }) => {
    if (next === null) return []
    if (next instanceof Error) {
      const setting = job.startsWith('search:') ? `the schedule of ${job} in pull.searches` : `jobs.${job}.schedule`
      const why = next instanceof ConfigError ? next.problems.map(({ message }) => message).join('; ') : next.message
      return [error(`${setting} cannot be used: ${why}`, `fix ${setting}, such as "30 2 * * *"`)]
    }
    return [ok(`The next run of ${job} is due ${minuteOf(next)} UTC (${schedule} in ${timeZone})`)]
  })
  if (found.length > 0) return found
  const todo = 'set jobs.nightly-sync.schedule, and keep nightferry serve running'
  return [advice('There is no schedule: runs begin by hand alone', todo)]
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
  /** Connections of processes that carry rows. */
  atWork: number
  /** Of a job that nothing starts until a person resumes it. */
  pause?: Pause | undefined
}

type Pause = Pick<JobPause, 'paused_by' | 'paused_at' | 'reason'>

/** Whether what fell due happened, and whether anybody is there for the next. Pure. */
export function judgeMissed({ job, due, now, since, runs, atWork, pause }: Due): Found[] {
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
  if (atWork === 0)
    found.push(
      warning(
        `Runs of ${job} fall due by schedule, and no process that could start them is connected`,
        'nightferry serve (docs/service.md)',
      ),
    )
  const skipped = scheduled.filter(({ state }) => state === 'skipped')
  if (skipped.length > 0) {
    found.push(
      advice(
        `${skipped.length} of the last ${runs.length} runs of ${job} fell due while no process was up, and were skipped`,
        `keep nightferry serve running, or set missed of ${job} to once`,
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
      warning(
        `The run of ${job} that fell due ${minuteOf(due)} UTC has not begun`,
        `nightferry serve catches up, or nightferry run ${job}`,
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

type LastRun = Pick<Run, 'run_id' | 'state' | 'verdict' | 'failure' | 'started_at' | 'finished_at' | 'held' | 'asked'>

const dayMs = 86_400_000

/** How the newest runs of a job went. Pure. @param runs newest first. */
export function judgeLastRuns(job: string, runs: readonly LastRun[], atWork: number, now: Date): Found[] {
  const last = runs.find(({ state }) => state !== 'skipped')
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
        `Run ${ended.run_id} was stopped by the guard before it sent anything`,
        `nightferry approve ${ended.run_id} --dry-run`,
      ),
    )
  } else if (ended?.verdict === 'partial') {
    found.push(
      warning(`Run ${ended.run_id} finished, and something needs a person`, 'nightferry status; its report says what'),
    )
  } else if (ended !== undefined)
    found.push(ok(`Run ${ended.run_id} ended well, ${minuteOf(ended.finished_at ?? ended.started_at)} UTC`))
  const well = runs.find((run) => !isPart(run) && run.state === 'finished' && run.verdict !== 'failed' && !run.held)
  const since = well?.finished_at ?? null
  if (ended !== undefined && (since === null || now.getTime() - since.getTime() > 2 * dayMs)) {
    const words =
      since === null
        ? `None of the last ${runs.length} runs of ${job} carried the data through`
        : `No run of ${job} has carried the data through since ${minuteOf(since)} UTC`
    found.push(warning(words, `nightferry run ${job}`))
  }
  return found
}

/** So long a message that was given up is warned of: only a newer one shows that its receiver was fixed. */
const givenUpDays = 7

/**
 * Messages that have not arrived everywhere: that are tried still, or were given up lately and are missing at a
 * receiver that is set now and has taken nothing newer. Pure.
 * @param news newest first.
 */
function judgeUndelivered(
  news: readonly Selectable<NotificationTable>[],
  notify: Config['notify'],
  now: Date,
): Found[] {
  const since = now.getTime() - givenUpDays * dayMs
  const receivers = (heartbeat: boolean) =>
    channelsOf(notify, heartbeat).flatMap((channel) => channel.receivers.map(({ name }) => name))
  const [people, monitor] = [receivers(false), receivers(true)]
  const open = news.filter(({ error: failure, next_at, created_at, event, taken_by }, place) => {
    if (failure === null || next_at !== null) return failure !== null
    const newer = news.slice(0, place)
    const lacking = (event === 'heartbeat' ? monitor : people).filter(
      (name) =>
        !taken_by.includes(name) && mayBeOver(failure, name) && !newer.some((one) => one.taken_by.includes(name)),
    )
    return created_at.getTime() >= since && lacking.length > 0
  })
  const [newest] = open
  if (newest === undefined) {
    const all = news.every(({ error: failure }) => failure === null)
    return [ok(all ? 'Every message arrived' : `No receiver lacks its newest message of the last ${givenUpDays} days`)]
  }
  return [
    warning(
      `${open.length} of the last ${news.length} messages did not reach everyone; the newest: ${newest.error}`,
      'nightferry notify --test, nightferry notify',
    ),
  ]
}

/** Runs that are looked at: a month of nights. */
const nightsLookedAt = 31

export const scheduleChecks: readonly Check[] = [
  {
    id: 'schedule',
    group: 'schedule',
    why: 'Without a schedule nothing happens by itself.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      return judgeSchedules(
        jobsOf(config).map(({ name }) => {
          const setting = scheduleOf(config, name)
          try {
            return { job: name, setting, next: nextOccurrence(name, setting, ward.now()) }
          } catch (wrong) {
            return { job: name, setting, next: wrong as Error }
          }
        }),
      )
    },
  },
  {
    id: 'missed_run',
    group: 'schedule',
    why: 'A run that falls due while no process is up does not happen, or happens late.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const { db } = await on(ward.ledger, 'database_schema')
      const now = ward.now()
      const atWork = await connectionsAtWork(db)
      const paused = await pausedJobs(db)
      const found = []
      for (const { name: job } of jobsOf(config)) {
        const setting = scheduleOf(config, job)
        const due = dueOccurrence(job, setting, now)
        if (due === null) continue
        const runs = await newestRuns(db, nightsLookedAt, { job })
        const since = await scheduleSince(db, job, setting, now)
        const pause = paused.find((one) => one.job === job)
        found.push(...judgeMissed({ job, due, now, since, runs, atWork, pause }))
      }
      if (found.length > 0) return found
      return judgeMissed({ job: night, due: null, now, since: null, runs: [], atWork })
    },
  },
  {
    id: 'last_runs',
    group: 'schedule',
    why: 'What the last nights came to says how the next one will go.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const { db } = await on(ward.ledger, 'database_schema')
      const atWork = await connectionsAtWork(db)
      const found = []
      for (const job of carryingJobs(config)) {
        found.push(...judgeLastRuns(job, await newestRuns(db, nightsLookedAt, { job }), atWork, ward.now()))
      }
      return found
    },
  },
]

/** So many of the newest are looked at. */
const noticesLookedAt = 100

export const notificationChecks: readonly Check[] = [
  {
    id: 'notify_receiver',
    group: 'notifications',
    why: 'A night that fails while nobody is told is found by accident.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const { notify } = config
      const found: Found[] = []
      for (const [name, url] of [
        ['notify.url', notify.url],
        ['notify.heartbeatUrl', notify.heartbeatUrl],
      ] as const) {
        if (url !== null) found.push(await resolved(name, new URL(url).hostname))
      }
      const scheduled = carryingJobs(config).some((job) => scheduleOf(config, job).schedule !== null)
      if (notify.email.host !== null) found.push(await resolved('notify.email.host', notify.email.host))
      if (notify.url === null && notify.email.host === null && scheduled)
        found.push(
          advice(
            'Nobody is told of a run that fails',
            'set NIGHTFERRY_NOTIFY_URL, and try nightferry notify --test',
            'notify.url',
          ),
        )
      if (notify.heartbeatUrl === null && scheduled) {
        found.push(
          advice(
            'No monitor notices when every process is down',
            'set NIGHTFERRY_NOTIFY_HEARTBEAT_URL',
            'notify.heartbeatUrl',
          ),
        )
      }
      return found.length > 0
        ? found
        : [ok('No job that carries data has a schedule, so anyone who starts one sees how it ends')]
    },
  },
  {
    id: 'notify_delivered',
    group: 'notifications',
    why: 'News that does not arrive is no news.',
    run: async (ward) => {
      const { notify } = await on(ward.config, 'configuration')
      const { db } = await on(ward.ledger, 'database_schema')
      return judgeUndelivered(await newestNotifications(db, noticesLookedAt), notify, ward.now())
    },
  },
]

/** Nothing is sent: whether the receiver takes a message only `nightferry notify --test` shows. */
async function resolved(setting: string, host: string): Promise<Found> {
  try {
    const addresses = await systemLookup(host.replace(/^\[(.*)\]$/, '$1'))
    if (addresses.length > 0)
      return ok(`The host of ${setting} resolves; nightferry notify --test sends a message`, setting)
    return error(`The host of ${setting} has no address`, `check ${setting}`, setting)
  } catch (failure) {
    return error(
      `The host of ${setting} does not resolve: ${(failure as { code?: string }).code ?? 'no reason given'}`,
      `check ${setting}, and the name service of this machine`,
      setting,
    )
  }
}
