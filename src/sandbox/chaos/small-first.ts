import type { Sandbox } from '../running-sandbox.ts'
import type { StartedTask } from '../tasks/sandbox-task.ts'
import { taskProfile } from './profiles.ts'
import { isStruck, logTaskChaos } from './task-chaos.ts'

export type LaterEnds = {
  /** Resolves when the task may end: at once, or after a smaller one that was sent later. */
  wait(task: StartedTask, signal: AbortSignal): Promise<void>
  /** The task has ended. */
  ended(task: StartedTask): void
  /** How many tasks wait; they are done with their work. */
  size(): number
}

/** Milliseconds of the sandbox's clock after which nobody smaller is waited for any longer. */
const mostMs = 10_000

/** Lets small requests that were sent later end before large ones that were sent earlier; `onWait`: one waits now. */
export function createLaterEnds(sandbox: Sandbox, onWait: () => void): LaterEnds {
  const delayed = new Map<StartedTask, AbortController>()
  const overtakes = (later: StartedTask, earlier: StartedTask) =>
    later.sequence > earlier.sequence && later.items < earlier.items
  return {
    wait: async (task, signal) => {
      if ([...delayed.keys()].some((waiting) => overtakes(task, waiting))) return
      if (task.items < 2 || !isStruck(sandbox, taskProfile.smallFirst, task)) return
      const release = new AbortController()
      await logTaskChaos(sandbox, taskProfile.smallFirst, task.id)
      for (const [other, itsRelease] of delayed) if (overtakes(other, task)) itsRelease.abort()
      delayed.set(task, release)
      onWait()
      await sandbox.clock.wait(mostMs, AbortSignal.any([signal, release.signal]))
      delayed.delete(task)
    },
    ended: (task) => {
      for (const [waiting, release] of delayed) if (overtakes(task, waiting)) release.abort()
    },
    size: () => delayed.size,
  }
}
