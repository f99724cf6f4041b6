import { createHash } from 'node:crypto'

/** Decides when trouble that was asked for happens. */
export type Chaos = {
  /**
   * Whether the profile strikes this time. `occasion` names what may be struck (an endpoint, a file); the nth
   * question about the same profile and occasion has the same answer under the same seed.
   */
  strikes(profile: string, occasion: string): boolean
  /** As `strikes`, but the same answer however often it is asked: for what has one fate, such as a task. */
  fate(profile: string, occasion: string): boolean
  /** A number from 0 up to, not including, 1, decided as `strikes` decides: for how much, and which of several. */
  measure(profile: string, occasion: string): number
  /** The profiles that are on, by name, each with the share of occasions that it strikes. */
  active(): ReadonlyMap<string, number>
  /** Puts these profiles in the place of those that are on; counting begins again. */
  replace(profiles: ReadonlyMap<string, number>): void
  /** Calls the listener after each replacement, until the returned function is called. */
  onReplace(listener: () => void): () => void
}

/** Chaos of this seed; without profiles nothing strikes. */
export function createChaos(seed: number, profiles: ReadonlyMap<string, number> = new Map()): Chaos {
  let shares = new Map(profiles)
  let asked = new Map<string, number>()
  const listeners = new Set<() => void>()
  const number = (text: string) =>
    createHash('sha256').update(`chaos ${seed} ${text}`).digest().readUInt32BE(0) / 0x1_0000_0000
  const dice = (purpose: string, profile: string, occasion: string) => {
    const key = `${purpose} ${profile} ${occasion}`
    const nth = (asked.get(key) ?? 0) + 1
    asked.set(key, nth)
    return number(`${key} ${nth}`)
  }
  return {
    strikes: (profile, occasion) => {
      const share = shares.get(profile)
      return share !== undefined && dice('strikes', profile, occasion) < share
    },
    fate: (profile, occasion) => {
      const share = shares.get(profile)
      return share !== undefined && number(`fate ${profile} ${occasion}`) < share
    },
    measure: (profile, occasion) => dice('measure', profile, occasion),
    active: () => shares,
    replace: (next) => {
      shares = new Map(next)
      asked = new Map()
      for (const listener of listeners) listener()
    },
    onReplace: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
