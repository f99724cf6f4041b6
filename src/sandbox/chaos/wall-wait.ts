import { isAdjustable, type SandboxClock } from '../clock.ts'

/**
 * Waits `ms` as a client's own clock measures them, however fast the sandbox's time runs: what happens on a connection
 * is compared with the patience of the one at its other end. Resolves at once when the signal aborts.
 */
export function wallWait(clock: SandboxClock, ms: number, signal: AbortSignal): Promise<void> {
  return clock.wait(isAdjustable(clock) ? ms * clock.timeWarp() : ms, signal)
}
