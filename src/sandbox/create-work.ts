import PQueue from 'p-queue'
import { type DurationSettings, durationsWith } from './durations.ts'
import { processTask } from './processing/process-task.ts'
import { startRetention } from './retention.ts'
import type { Sandbox } from './running-sandbox.ts'
import { startDispatcher } from './tasks/dispatcher.ts'
import { startWebhookDispatcher } from './webhooks/webhook-dispatcher.ts'

/**
 * Tasks whose rows are read and stored at the same moment; others that are in process wait, or sit out their duration.
 * With four, two processors did no more, and all four requests were in memory.
 */
const readAtOnce = 2

type WorkOptions = {
  durations?: DurationSettings | undefined
  /** Tasks processed at once. */
  workers: number
  retentionDays: number
  /** Between two dispatches of webhooks, in milliseconds of the sandbox's clock. */
  webhookDispatchMs: number
}

/** What the service does beside answering. */
type Work = {
  /** A request was queued. */
  wake(): void
  /** Whether work is done now. */
  isRunning(): boolean
  /** Resolves when nothing runs any more; what was broken off is taken up again by `resume`, or by the next start. */
  pause(): Promise<void>
  resume(): void
}

/**
 * Everything that works by itself: the processing of tasks, the delivery of webhooks, the removal of what is old. Rests
 * until `resume`.
 */
export function createWork(sandbox: Sandbox, options: WorkOptions): Work {
  let running: { wake(): void; stops: readonly { stop(): Promise<void> }[] } | undefined
  const reading = new PQueue({ concurrency: readAtOnce })
  const start = () => {
    const dispatcher = startDispatcher(sandbox, {
      workers: options.workers,
      durations: durationsWith(options.durations),
      // The queue is not told of the signal: it would not wait for what goes on until it meets it.
      process: (task, signal) =>
        reading.add(() => {
          signal.throwIfAborted()
          return processTask(sandbox, task, signal)
        }),
    })
    const webhooks = startWebhookDispatcher(sandbox, { dispatchMs: options.webhookDispatchMs })
    const retention = startRetention(sandbox, { retentionDays: options.retentionDays })
    return { wake: () => dispatcher.wake(), stops: [dispatcher, webhooks, retention] }
  }
  return {
    wake: () => running?.wake(),
    isRunning: () => running !== undefined,
    pause: async () => {
      const stops = running?.stops ?? []
      running = undefined
      await Promise.all(stops.map((each) => each.stop()))
    },
    resume: () => {
      running ??= start()
    },
  }
}
