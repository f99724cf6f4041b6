import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'

type WatchedKey = {
  /** Until the next probe may go out, while the service does not accept the key; null while it does. */
  refusal: () => Promise<{ probeInMs: number } | null>
  /** A call that the open breaker lets through when it is time, and that closes it when it succeeds. */
  probe: () => Promise<unknown>
  logger: Pick<Logger, 'warn' | 'debug'>
}

/** So that a probe which is due is not asked for a moment too early, and then an interval late. In milliseconds. */
const marginMs = 20

/**
 * Finds out whether a key that the service did not accept is accepted again. Every daemon watches, and of each probe
 * that is due one of them makes it, so none has to be told. A probe that is under way when it is stopped ends with the
 * client.
 */
export function startKeyWatch({ refusal, probe, logger }: WatchedKey, intervalMs: number): { stop: () => void } {
  const stopping = new AbortController()
  const { signal } = stopping
  const look = async (): Promise<number> => {
    const refused = await refusal()
    if (refused === null) return intervalMs
    if (refused.probeInMs > 0) return Math.min(refused.probeInMs + marginMs, intervalMs)
    await probe()
    return intervalMs
  }
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const waitMs = await look().catch((error: Error & { code?: unknown }) => {
        const refusedStill = error.code === 'exchange_unauthorized'
        if (!signal.aborted) logger[refusedStill ? 'debug' : 'warn']({ error: error.message }, 'key_probe_failed')
        return intervalMs
      })
      await delay(waitMs, undefined, { signal }).catch(() => {})
    }
  }
  void watch()
  return { stop: () => stopping.abort() }
}
