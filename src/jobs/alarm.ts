/** The workers of this process, woken when a look that this process has put off is due. */
export type Alarm = {
  /** A worker of a queue that can be woken. */
  enlist(queue: string, workerId: string): void
  /** Says that a worker is at work on a look, until the returned function is called. */
  occupy(workerId: string): () => void
  /** Wakes a worker of the queue after so many milliseconds: a free one, if there is one. */
  after(queue: string, delayMs: number): void
  /** Nobody is woken any more. */
  stop(): void
}

/** A moment that the database's clock has passed too: it set the look's time, and says whether it is due. */
const marginMs = 5

/** What a timer of Node can wait for; a look that is due later is found by the queue's own polls. */
const longestMs = 2 ** 31 - 1

/**
 * The database announces new looks, but nobody announces that one that was put off is due: it would wait for the next
 * poll of the queue. So the process that put it off wakes one of its workers. If that process has ended, the polls of
 * others find the look.
 */
export function createAlarm(wake: (workerId: string) => void): Alarm {
  const workers = new Map<string, string[]>()
  const busy = new Map<string, number>()
  const timers = new Set<NodeJS.Timeout>()
  let stopped = false
  return {
    enlist: (queue, workerId) => {
      workers.set(queue, [...(workers.get(queue) ?? []), workerId])
    },
    occupy: (workerId) => {
      busy.set(workerId, (busy.get(workerId) ?? 0) + 1)
      return () => void busy.set(workerId, (busy.get(workerId) ?? 1) - 1)
    },
    after: (queue, delayMs) => {
      if (stopped || delayMs + marginMs > longestMs) return
      const timer = setTimeout(() => {
        timers.delete(timer)
        const own = workers.get(queue) ?? []
        // One that is at work looks again when it is done, so waking it is no mistake, only late.
        const chosen = own.find((workerId) => (busy.get(workerId) ?? 0) === 0) ?? own[0]
        if (chosen !== undefined) wake(chosen)
      }, delayMs + marginMs)
      timer.unref()
      timers.add(timer)
    },
    stop: () => {
      stopped = true
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}
