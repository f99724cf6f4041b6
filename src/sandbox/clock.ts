import { setTimeout as delay } from 'node:timers/promises'

/** The sandbox's time: tests and faster worlds bring their own. */
export type SandboxClock = {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after `ms` of this clock's time, or at once when the signal aborts. Never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: SandboxClock = {
  now: () => Date.now(),
  wait: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
}
