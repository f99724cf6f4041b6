import { isPaused, isWaiting, keepSchedule, noteSchedule, noteWaiting } from '../db/runs/job-requests.ts'
import { insertSkippedRun, lastDecided, runInTheWay, takeBackAhead } from '../db/runs/run-life.ts'
import type { Deps } from '../pipeline/deps.ts'
import { dueOccurrence } from './due-occurrence.ts'
import type { Job } from './job.ts'
import { scheduleOf } from './known-jobs.ts'
import { triggerRun } from './trigger-run.ts'

type Setting = ReturnType<typeof scheduleOf>

/**
 * An occurrence found this long after it fell due was missed: no daemon was up, or the job was paused. Two ticks of
 * grace, in milliseconds.
 */
const missedAfterMs = 120_000

/**
 * Between two ticks at most. Timers go by a clock that nobody sets: if the time of day is set back by an hour, the next
 * tick does not wait for an hour, and one that comes late, in a process that has other work, is not left out.
 */
const tickMs = 60_000

/** A moment, so that what falls due at the full minute is due when the tick comes. */
const marginMs = 5

/**
 * Starts what falls due, once a minute and at once. The unique (job, scheduled_for) decides which of several daemons
 * does. A schedule that no daemon has seen before, or that was changed, begins with its first occurrence after that.
 * @param began when this daemon did: a new schedule that it finds counts from there on.
 * @param upMs for how many milliseconds this process has been up, by a clock that nobody sets and that stands still
 *   while the machine does.
 */
export function startScheduler(
  deps: Deps,
  job: Job,
  began: Date,
  upMs: () => number = () => performance.now(),
): { tick: () => Promise<void>; stop: () => Promise<void> } {
  dueOccurrence(job.name, scheduleOf(deps.config, job.name), deps.now())
  const force = inForce(deps, job.name, began)
  const seen = seenInTime(deps, job.name, upMs)
  const look = async (): Promise<void> => {
    await deps.readClock?.()
    // Until it is read, the clock stands where it was before a suspension.
    seen.note()
    const now = deps.now()
    // Read each time: a configuration that is read again may have another one.
    const setting = scheduleOf(deps.config, job.name)
    const due = dueOccurrence(job.name, setting, now)
    const late = due !== null && isLate(due, now) && !seen.has(due, now)
    if (due !== null) await takeBackAhead(deps.db, job.name, now)
    const since = await force(setting, now)
    if (due === null || due <= since || due <= ((await lastDecided(deps.db, job.name, now)) ?? since)) return
    // Its last occurrence stays due, and is judged as any other once the job is resumed.
    if (await isPaused(deps.db, job.name)) {
      seen.forget(now)
      return
    }
    // It waits for the run that is under way, its own or another job's; the next tick finds it still due.
    if ((await runInTheWay(deps.db, job.name)) !== undefined) {
      // Seen in time: however long the other run takes, this one was not missed.
      if (!late) await noteWaiting(deps.db, job.name, due)
      return
    }
    const missed = late && !(await isWaiting(deps.db, job.name, due))
    if (missed && setting.missed === 'skip') {
      await insertSkippedRun(deps.db, job.name, due)
      deps.logger.warn({ job: job.name, scheduled_for: due }, 'run_skipped')
      return
    }
    await triggerRun(deps, job, missed ? 'missed' : 'schedule', due)
  }
  let ticking = Promise.resolve()
  // One after the other: what a slow one found would otherwise be noted over what a later one has.
  const tick = async (): Promise<void> => {
    // Before the look, which waits for a database that is away.
    seen.note()
    const ended = ticking.then(look)
    ticking = ended.catch(() => {})
    await ended
  }
  const guarded = () => tick().catch((error: Error) => deps.tellTrouble('tick_failed', error, { job: job.name }))
  let timer: NodeJS.Timeout
  const tickAtNextMinute = () => {
    timer = setTimeout(
      () => {
        tickAtNextMinute()
        void guarded()
      },
      tickMs - (deps.now().getTime() % tickMs) + marginMs,
    )
  }
  tickAtNextMinute()
  void guarded()
  return {
    tick,
    stop: async () => {
      clearTimeout(timer)
      // A tick that has begun must not start a run after us.
      await ticking
    },
  }
}

function isLate(due: Date, now: Date): boolean {
  return now.getTime() - due.getTime() > missedAfterMs
}

/**
 * What fell due while this daemon was up, which was not missed. It may notice late: a statement on a SQLite file keeps
 * it from all else, and at its start it waits for a database that is away. What it saw in time counts as well, whatever
 * happens to the clocks later. Kept here as well as in the database, which may be away at that very moment.
 */
function seenInTime(
  deps: Deps,
  job: string,
  upMs: () => number,
): { note(): void; has(due: Date, now: Date): boolean; forget(now: Date): void } {
  let seen: Date | null = null
  /** What fell due before was due while the job was paused, or the machine suspended. */
  let notBefore = 0
  let before: { now: number; upMs: number } | undefined
  return {
    note: () => {
      const now = deps.now()
      const noted = { now: now.getTime(), upMs: upMs() }
      // The time of day went on without this process: the machine was suspended, or somebody set the clock ahead.
      const isAhead = before !== undefined && noted.now - before.now - (noted.upMs - before.upMs) > missedAfterMs
      if (isAhead) notBefore = noted.now
      before = noted
      const due = dueOccurrence(job, scheduleOf(deps.config, job), now)
      if (due !== null && !isLate(due, now)) seen = due
    },
    has: (due, now) =>
      seen?.getTime() === due.getTime() || due.getTime() >= Math.max(now.getTime() - upMs(), notBefore),
    forget: (now) => {
      seen = null
      notBefore = now.getTime()
    },
  }
}

/**
 * Since when a job has had the schedule that it has now. Kept here as well: of two daemons with different schedules,
 * as while one of them is yet to be told of a new one, neither takes the other's for a change of its own, and each
 * keeps its own in force.
 */
function inForce({ db }: Deps, job: string, began: Date): (setting: Setting, now: Date) => Promise<Date> {
  let known: { schedule: string | null; timeZone: string; since: Date } | undefined
  let before: Date | undefined
  return async ({ schedule, timeZone }, now) => {
    const looked = before
    before = now
    const stands = known?.schedule === schedule && known.timeZone === timeZone && known.since <= now
    if (known !== undefined && stands) {
      await keepSchedule(db, job, { schedule, timeZone }, known.since)
      return known.since
    }
    // It was changed after the look before, unless that is long ago; what fell due since then is not to be missed.
    const isNear = looked !== undefined && now.getTime() - looked.getTime() <= missedAfterMs
    const unchanged = known === undefined ? began : isNear ? looked : now
    // The clock may have been ahead when this daemon began, or looked.
    const from = unchanged <= now ? unchanged : now
    known = { schedule, timeZone, since: await noteSchedule(db, job, { schedule, timeZone }, { from, now }) }
    return known.since
  }
}
