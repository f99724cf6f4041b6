import type { SandboxClock } from '../../src/sandbox/clock.ts'

/** A clock that stands still until it is told to go on, and knows who waits for it. */
export type ManualClock = SandboxClock & {
  advance(ms: number): void
  /** How many loops wait for a later time. */
  waiting(): number
}

export function manualClock(start = Date.UTC(2026, 10, 21, 2)): ManualClock {
  let now = start
  const waiting = new Set<{ until: number; done: () => void }>()
  return {
    now: () => now,
    wallNow: () => Date.now(),
    waiting: () => waiting.size,
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (ms <= 0 || signal.aborted) return resolve()
        const entry = {
          until: now + ms,
          done: () => {
            waiting.delete(entry)
            signal.removeEventListener('abort', entry.done)
            resolve()
          },
        }
        waiting.add(entry)
        signal.addEventListener('abort', entry.done)
      }),
    advance: (ms) => {
      now += ms
      for (const entry of waiting) if (entry.until <= now) entry.done()
    },
  }
}
