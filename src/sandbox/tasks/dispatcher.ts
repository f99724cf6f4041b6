import { type Durations, processingMs } from '../durations.ts'
import type { Sandbox } from '../sandbox.ts'
import { finishTask, resumeTasks, scheduleTasks, startNextTask, waitingSince } from './move-task.ts'
import type { Outcome, StartedTask } from './task.ts'
import { isTransient } from './transient-failure.ts'

export type Dispatcher = {
  /** Look for work now: a request was queued. */
  wake(): void
  /** Stops picking up, breaks off what is in process, and resolves when nothing runs. Broken-off tasks stay InProgress. */
  stop(): Promise<void>
}

/** Does the work of one task. Must be repeatable: after trouble or a restart it is called again from the start. */
export type ProcessTask = (task: StartedTask, signal: AbortSignal) => Promise<Outcome>

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

  const work = async (task: StartedTask) => {
    let resumed: StartedTask | undefined = task
    while (resumed && !stopping.signal.aborted) {
      try {
        if (await processOnce(sandbox, resumed, options, stopping.signal)) return
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

  /** One look at the tasks; returns when, on the sandbox's clock, the next one is worth while without a wake-up. */
  const dispatch = async (): Promise<number> => {
    const now = clock.now()
    await scheduleTasks(pool, new Date(now - durations.pendingMs), new Date(now))
    while (running.size < workers && !stopping.signal.aborted) {
      const moment = clock.now()
      const task = await startNextTask(sandbox, new Date(moment - durations.scheduledMs), new Date(moment))
      if (!task) break
      run(task)
    }
    const since = await waitingSince(pool)
    const pendingDue = since.pending === null ? Number.POSITIVE_INFINITY : since.pending + durations.pendingMs
    const mayStart = since.scheduled !== null && running.size < workers
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
          for (const task of await resumeTasks(sandbox, null)) run(task)
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
      stopping.abort()
      wake()
      await looping
      await Promise.all(running)
    },
  }
}

/** Only a safeguard: whatever adds work or frees a worker also wakes the dispatcher. */
const idleMs = 60_000

/** True when the task is done for good, false when it is to be re-queued or was broken off. */
async function processOnce(
  sandbox: Sandbox,
  task: StartedTask,
  options: { durations: Durations; process: ProcessTask },
  signal: AbortSignal,
): Promise<boolean> {
  let outcome: Outcome
  try {
    outcome = await options.process(task, signal)
  } catch (error) {
    if (signal.aborted) return false
    if (isTransient(error)) {
      sandbox.logger.warn({ err: error, correlation_id: task.id }, 'sandbox_task_requeued')
      return false
    }
    sandbox.logger.error({ err: error, correlation_id: task.id }, 'sandbox_task_crashed')
    outcome = { accepted: 0, failed: 1, rowErrors: [], generalErrors: ['The request could not be processed.'] }
  }
  const endsAt = task.startedAt + processingMs(options.durations, task, sandbox.seed)
  await sandbox.clock.wait(Math.max(0, endsAt - sandbox.clock.now()), signal)
  if (signal.aborted) return false
  await finishTask(sandbox, task.id, outcome)
  return true
}
