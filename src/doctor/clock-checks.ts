import { sql } from 'kysely'
import type { ClockSkew } from '../exchange/clock-skew.ts'
import { surelyOffMs, tolerableSkewMs } from '../pipeline/gate/service-clock.ts'
import { type Found, ok, warning } from './finding.ts'
import { type Check, on, type Ward } from './ward.ts'

/** How far another clock is from that of this process. Pure. */
export function judgeClock(party: string, skew: ClockSkew): Found[] {
  const offMs = surelyOffMs(skew)
  const side = skew.lowMs > 0 ? 'ahead of' : 'behind'
  const far = `The clock of ${party} is ${(offMs / 1000).toFixed(offMs < 10_000 ? 1 : 0)} s ${side} this machine's`
  if (offMs > tolerableSkewMs) return [warning(far, 'keep both clocks right by NTP')]
  return [ok(offMs < 1_000 ? `The clock of ${party} agrees with this machine's` : far)]
}

/** Pure. */
function judgeSilentClock(party: string): Found[] {
  return [ok(`${party.charAt(0).toUpperCase()}${party.slice(1)} has no clock of its own, or does not show it`)]
}

const why =
  'Times are compared across all parties: what is due, which rows are new, and whether a webhook is fresh (five minutes).'

export const clockChecks: readonly Check[] = [
  {
    id: 'clock_of_database',
    group: 'clocks',
    why,
    run: async (ward) => {
      const { db } = await on(ward.own, 'database_reached')
      return await measured("Nightferry's database", ward, async () => {
        const { rows } = await sql<{ at: Date }>`select clock_timestamp() as at`.execute(db)
        return rows[0]?.at.getTime() ?? null
      })
    },
  },
  {
    id: 'clock_of_partner',
    group: 'clocks',
    why,
    run: async (ward) => {
      const partner = await on(ward.partner, 'partner_reached')
      return await measured("the partner's database", ward, () => partner.clock())
    },
  },
  {
    id: 'clock_of_service',
    group: 'clocks',
    why,
    run: async (ward) => {
      const skew = (await on(ward.service, 'service_key')).skew()
      return skew === null ? judgeSilentClock('the service') : judgeClock('the service', skew)
    },
  },
]

/** A clock beside that of this process: the answer was given at some moment between the question and its arrival. */
async function measured(party: string, { now }: Ward, ask: () => Promise<number | null>): Promise<Found[]> {
  const askedMs = now().getTime()
  const theirs = await ask()
  const answeredMs = now().getTime()
  if (theirs === null) return judgeSilentClock(party)
  return judgeClock(party, { lowMs: theirs - answeredMs, highMs: theirs - askedMs })
}
