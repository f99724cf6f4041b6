import type { Selectable } from 'kysely'
import { carryingJobs, night } from '../config/known-names.ts'
import { requirementsOf } from '../config/require-settings.ts'
import type { Config } from '../config/schema.ts'
import { waitingPlans } from '../db/guard/guard-plan.ts'
import { pausedJobs, scheduleSince } from '../db/runs/job-requests.ts'
import { newestElsewhere, newestNotifications, newestRuns } from '../db/runs/newest-runs.ts'
import { connectionsAtWork } from '../db/service-key/keys-at-work.ts'
import type { NotificationTable } from '../db/tables/run-tables.ts'
import { systemLookup } from '../exchange/download-address.ts'
import { dueOccurrence, nextOccurrence } from '../jobs/due-occurrence.ts'
import { jobsOf, scheduleOf } from '../jobs/known-jobs.ts'
import { channelsOf, mayBeOver } from '../pipeline/notify/channels.ts'
import { judgeLastRuns, judgeMissed, judgeSchedules } from './judge-schedule.ts'
import { advice, type Check, error, type Found, ok, on, warning } from './ward.ts'

const dayMs = 86_400_000

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

/** Null also where the schedule cannot be read, which a check of its own says. */
function dueADayAgo(setting: ReturnType<typeof scheduleOf>, now: Date): Date | null {
  try {
    return dueOccurrence('', setting, new Date(now.getTime() - dayMs))
  } catch {
    return null
  }
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
        carryingJobs(config),
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
        found.push(...judgeMissed({ job, due, now, since, runs, missed: setting.missed, atWork, pause }))
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
      const waiting = (await waitingPlans(db, requirementsOf(config))).map(({ run_id }) => run_id)
      const found = []
      for (const job of carryingJobs(config)) {
        const [now, runs] = [ward.now(), await newestRuns(db, nightsLookedAt, { job, here: true })]
        const due = dueADayAgo(scheduleOf(config, job), now)
        const elsewhere = await newestElsewhere(db, job)
        found.push(...judgeLastRuns(job, runs, { atWork, now, due, elsewhere, waiting }))
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
