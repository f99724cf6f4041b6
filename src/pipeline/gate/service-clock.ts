import type { Logger } from 'pino'
import type { Database } from '../../db/database.ts'
import { storeSkew } from '../../db/service-key/service-key.ts'
import type { ClockSkew } from '../../exchange/read-answer.ts'

/**
 * How far apart the service's clock and ours may be before it is told. A minute: no clock that is kept right is that
 * far off, and by five the signatures of webhooks are refused.
 */
export const tolerableSkewMs = 60_000

/** What has been stored is stored again once it has moved by so much, or is so old. Milliseconds. */
const movedMs = 1_000
const staleMs = 60_000

type ServiceClock = {
  /** Takes note of what a call told. Never throws, and waits for nothing. */
  note(skew: ClockSkew): void
  /** Ends once what was noted is stored. */
  close(): Promise<void>
}

/**
 * Keeps how far the service's clock is from the database's, for anyone who asks, and warns each time it comes to be
 * far.
 */
export function createServiceClock(
  db: Database,
  fingerprint: string,
  logger: Pick<Logger, 'warn' | 'info'>,
): ServiceClock {
  let stored: { skew: ClockSkew; at: number } | null = null
  let far = false
  let storing: Promise<void> = Promise.resolve()

  function tell(skew: ClockSkew): void {
    const offMs = surelyOffMs(skew)
    if (offMs > tolerableSkewMs !== far) {
      far = !far
      const about = { code: 'service_clock_off', low_ms: Math.round(skew.lowMs), high_ms: Math.round(skew.highMs) }
      if (far) logger.warn({ ...about, reason: skewWords(skew) }, 'service_clock_off')
      else logger.info(about, 'service_clock_right_again')
    }
  }

  return {
    note: (skew) => {
      tell(skew)
      const at = performance.now()
      const moved = stored === null ? Infinity : Math.abs(middle(skew) - middle(stored.skew))
      if (stored !== null && moved <= movedMs && at - stored.at < staleMs) return
      stored = { skew, at }
      storing = storing
        .then(() => storeSkew(db, fingerprint, skew))
        .catch((error: Error) => {
          stored = null
          logger.warn({ reason: error.message }, 'service_clock_not_stored')
        })
    },
    close: () => storing,
  }
}

/** By how much the clocks differ at least, in milliseconds. Pure. */
export function surelyOffMs({ lowMs, highMs }: ClockSkew): number {
  return lowMs > 0 ? lowMs : highMs < 0 ? -highMs : 0
}

/** Pure. */
export function skewWords(skew: ClockSkew): string {
  const seconds = Math.round(surelyOffMs(skew) / 1000)
  const side = skew.lowMs > 0 ? 'ahead of' : 'behind'
  return seconds === 0
    ? "the service's clock agrees with the database's"
    : `the service's clock is ${seconds} s ${side} the database's`
}

function middle({ lowMs, highMs }: ClockSkew): number {
  return (lowMs + highMs) / 2
}
