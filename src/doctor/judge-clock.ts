import type { ClockSkew } from '../exchange/clock-skew.ts'
import { surelyOffMs, tolerableSkewMs } from '../pipeline/gate/service-clock.ts'
import { type Found, ok, warning } from './finding.ts'

/** How far another clock is from that of this process. Pure. */
export function judgeClock(party: string, skew: ClockSkew): Found[] {
  const offMs = surelyOffMs(skew)
  const side = skew.lowMs > 0 ? 'ahead of' : 'behind'
  const far = `The clock of ${party} is ${(offMs / 1000).toFixed(offMs < 10_000 ? 1 : 0)} s ${side} this machine's`
  if (offMs > tolerableSkewMs) return [warning(far, 'keep both clocks right by NTP')]
  return [ok(offMs < 1_000 ? `The clock of ${party} agrees with this machine's` : far)]
}

/** Pure. */
export function judgeSilentClock(party: string): Found[] {
  return [ok(`${party.charAt(0).toUpperCase()}${party.slice(1)} has no clock of its own, or does not show it`)]
}
