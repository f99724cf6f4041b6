import { setTimeout as delay } from 'node:timers/promises'

/** The sandbox's time: everything that the service stores, waits for or lets expire follows it. */
export type SandboxClock = {
  /** Milliseconds since 1970 of the sandbox's time. */
  now(): number
  /** Milliseconds since 1970 of real time, for what receivers compare with clocks of their own. */
  wallNow(): number
  /** Resolves after `ms` of this clock's time, or at once when the signal aborts. Never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

/** A clock that can be made to run faster, or to leap ahead, while others wait on it. */
export type AdjustableClock = SandboxClock & {
  /** How many times as fast as real time it runs. */
  timeWarp(): number
  setTimeWarp(factor: number): void
  /** Leaps ahead by `ms`, 0 or more. */
  advance(ms: number): void
}

/** Faster, what looks every minute of the sandbox's time would do nothing else; to leap ahead serves better then. */
export const maxTimeWarp = 10_000

type WarpedClockOptions = {
  /** 1 or more. */
  timeWarp: number
  /** Milliseconds since 1970: the clock begins here, or at real time where that is later. */
  notBefore: number
}

/** The longest that a timer of Node waits. */
const longestTimerMs = 2 ** 31 - 1

/**
 * A clock that starts at the later of real time and `notBefore` and runs `timeWarp` times as fast. It never goes back
 * and never falls behind real time, so that with a factor of 1 it is the clock on the wall.
 */
export function createWarpedClock({ timeWarp, notBefore }: WarpedClockOptions): AdjustableClock {
  const wallNow = () => Date.now()
  let factor = timeWarp
  let anchor = { at: Math.max(notBefore, wallNow()), running: performance.now() }
  let latest = anchor.at
  const waiting = new Set<AbortController>()
  const now = () => {
    const warped = anchor.at + (performance.now() - anchor.running) * factor
    latest = Math.max(latest, Math.floor(warped), wallNow())
    return latest
  }
  /** Everything that waits looks at the clock again. */
  const rearm = (at: number) => {
    anchor = { at, running: performance.now() }
    for (const waiter of waiting) waiter.abort()
  }
  return {
    now,
    wallNow,
    wait: async (ms, signal) => {
      const until = now() + ms
      for (let left = ms; left > 0 && !signal.aborted; left = until - now()) {
        const waiter = new AbortController()
        const wake = () => waiter.abort()
        waiting.add(waiter)
        signal.addEventListener('abort', wake, { once: true })
        const realMs = Math.min(left / factor, longestTimerMs)
        await delay(realMs, undefined, { signal: waiter.signal }).catch(() => undefined)
        signal.removeEventListener('abort', wake)
        waiting.delete(waiter)
      }
    },
    timeWarp: () => factor,
    setTimeWarp: (next) => {
      const at = now()
      factor = next
      rearm(at)
    },
    advance: (ms) => rearm(now() + ms),
  }
}

export function isAdjustable(clock: SandboxClock): clock is AdjustableClock {
  return 'setTimeWarp' in clock
}
