import { taskProfile } from '../chaos/profiles.ts'
import { createLaterEnds } from '../chaos/small-first.ts'
import { cancelStruckTasks, isStruck, logTaskChaos, repeatPending, repetitionsOf } from '../chaos/task-chaos.ts'
import type { Durations } from '../durations.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { resumeTasks, scheduleTasks, startNextTask, waitingSince } from './move-task.ts'
import { type ProcessTask, processOnce } from './process-once.ts'
import type { StartedTask } from './sandbox-task.ts'

type Dispatcher = {
  /** Look for work now: a request was queued. */
  wake(): void
  /**
   * Stops picking up, breaks off what is in process, and resolves when nothing runs. Broken-off tasks stay InProgress.
   */
  stop(): Promise<void>
}

/** Pause after the database failed: short enough for tests that restart it, long enough not to flood its log. */
const retryPauseMs = 250

/**
 * Picks tasks up in the order of their sequence numbers and processes up to `workers` at a time. Tasks that were
 * InProgress when the last sandbox on this database ended come first.
 */
export function startDispatcher(
  sandbox: Sandbox,
  options: { workers: number; durations: Durations; process: ProcessTask },
): Dispatcher {
  const { pool, clock, logger } = sandbox
  const { workers, durations } = options
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  let interrupt = new AbortController()
  let interrupted = false

  const wake = () => {
    interrupted = true
    interrupt.abort()
  }

  const laterEnds = createLaterEnds(sandbox, wake)
  /** Tasks that are InProgress without a worker: chaos keeps them, or the last sandbox ended in the middle of them. */
  let idle: StartedTask[] = []
  const stopListening = sandbox.chaos.onReplace(wake)

  const work = async (task: StartedTask) => {
    let resumed: StartedTask | undefined = task
    const repeat = { left: repetitionsOf(sandbox, task) }
    while (resumed && !stopping.signal.aborted) {
      try {
        if (await processOnce(sandbox, resumed, { ...options, laterEnds, repeat }, stopping.signal)) return
      } catch (error) {
        logger.error({ err: error, correlation_id: task.id }, 'sandbox_task_failed_to_run')
      }
      await clock.wait(retryPauseMs, stopping.signal)
      if (stopping.signal.aborted) return
      resumed = await resumeTasks(sandbox, task.id).then(
        (tasks) => tasks[0],
        () => task,
      )
    }
  }

  const run = (task: StartedTask) => {
    const worker = work(task).finally(() => {
      running.delete(worker)
      wake()
    })
    running.add(worker)
  }

  const isStuck = (task: StartedTask) => isStruck(sandbox, taskProfile.tasksStuck, task)

  /** The task waits for a worker or, as long as chaos keeps it, for that to end. */
  const rest = async (task: StartedTask) => {
    idle.push(task)
    if (!isStuck(task)) return
    await logTaskChaos(sandbox, taskProfile.tasksStuck, task.id).catch((error: unknown) =>
      logger.warn({ err: error, correlation_id: task.id }, 'sandbox_chaos_not_logged'),
    )
  }

  /** The oldest idle task that chaos does not keep, or no longer. */
  const takeReleased = (): StartedTask | undefined => {
    const released = idle.find((task) => !isStuck(task))
    idle = idle.filter((task) => task !== released)
    return released
  }

  const hasWorker = () => running.size - laterEnds.size() < workers && !stopping.signal.aborted

  /** One look at the tasks; returns when, on the sandbox's clock, the next one is worth while without a wake-up. */
  const dispatch = async (): Promise<number> => {
    const now = clock.now()
    const before = new Date(now - durations.pendingMs)
    const only = await repeatPending(sandbox, before)
    await scheduleTasks(sandbox, { before, now: new Date(now), only })
    await cancelStruckTasks(sandbox)
    while (hasWorker()) {
      const task = takeReleased()
      if (!task) break
      run(task)
    }
    while (hasWorker()) {
      const moment = clock.now()
      const task = await startNextTask(sandbox, new Date(moment - durations.scheduledMs), new Date(moment))
      if (!task) break
      if (isStuck(task)) await rest(task)
      else run(task)
    }
    const since = await waitingSince(pool)
    const pendingDue = since.pending === null ? Number.POSITIVE_INFINITY : since.pending + durations.pendingMs
    const mayStart = since.scheduled !== null && hasWorker()
    const scheduledDue = mayStart ? (since.scheduled ?? 0) + durations.scheduledMs : Number.POSITIVE_INFINITY
    return Math.min(pendingDue, scheduledDue, clock.now() + idleMs)
  }

  const loop = async () => {
    let resumedAll = false
    while (!stopping.signal.aborted) {
      interrupted = false
      let lookAgainAt = clock.now() + retryPauseMs
      try {
        if (!resumedAll) {
          for (const task of await resumeTasks(sandbox, null)) await rest(task)
          resumedAll = true
        }
        lookAgainAt = await dispatch()
      } catch (error) {
        logger.error({ err: error }, 'sandbox_dispatch_failed')
      }
      if (interrupted || stopping.signal.aborted) continue
      interrupt = new AbortController()
      await clock.wait(Math.max(0, lookAgainAt - clock.now()), interrupt.signal)
    }
  }

  const looping = loop()
  return {
    wake,
    stop: async () => {
      stopListening()
      stopping.abort()
      wake()
      await looping
      await Promise.all(running)
    },
  }
}

/** Only a safeguard: whatever adds work or frees a worker also wakes the dispatcher. */
const idleMs = 60_000
