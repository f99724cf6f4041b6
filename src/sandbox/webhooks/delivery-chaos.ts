import type { Chaos } from '../chaos/chaos.ts'

/** What chaos has in store for one delivery. */
type DeliveryFate = {
  /** The profiles that struck, as the log shows them; null: none. */
  struck: string[] | null
  lost: boolean
  late: boolean
  early: boolean
  reordered: boolean
}

/** How long a late delivery waits, in milliseconds of the sandbox's clock: as long as a whole retry ladder takes. */
export const lateByMs = 8.5 * 60 * 60 * 1000

/** The profiles that strike deliveries. */
export const deliveryChaos = {
  lost: 'webhooks-lost',
  late: 'webhooks-late',
  doubled: 'webhooks-doubled',
  reordered: 'webhooks-reordered',
  early: 'webhooks-early',
} as const

/**
 * Decides what becomes of a new delivery. Where several strike, lost goes before late, late before early, early before
 * reordered; doubled goes with any of them but lost.
 */
export function deliveryFate(chaos: Chaos): DeliveryFate {
  const strikes = (profile: string) => chaos.strikes(profile, 'delivery')
  const lost = strikes(deliveryChaos.lost)
  const late = strikes(deliveryChaos.late) && !lost
  const early = strikes(deliveryChaos.early) && !lost && !late
  const reordered = strikes(deliveryChaos.reordered) && !lost && !late && !early
  const doubled = strikes(deliveryChaos.doubled) && !lost
  const struck = Object.entries({ lost, late, doubled, reordered, early }).flatMap(([what, does]) =>
    does ? [deliveryChaos[what as keyof typeof deliveryChaos]] : [],
  )
  return { struck: struck.length === 0 ? null : struck, lost, late, early, reordered }
}
