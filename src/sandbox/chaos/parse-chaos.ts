import { profiles, profilesByName } from './profiles.ts'

/** Trouble was asked for that does not exist, or on a share of occasions that is none. The message lists the names. */
export class ChaosRefused extends Error {
  readonly code = 'chaos_invalid'

  constructor(message: string) {
    super(message)
    this.name = 'ChaosRefused'
  }
}

/**
 * Reads `lost-answer=0.2,latency`: names of profiles, each with the share of occasions that it strikes, from 0 to 1,
 * or with its own default share. A share of 0 is off; a name that is given twice has its last share.
 * @throws {ChaosRefused} for a name that is unknown and a share that is none.
 */
export function parseChaos(text: string): ReadonlyMap<string, number> {
  const asked = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  return checkChaos(
    asked.map((part) => {
      const [name = '', share, ...rest] = part.split('=').map((side) => side.trim())
      const known = profilesByName.get(name)
      if (share === undefined) return [name, known?.share ?? 1]
      return [name, share === '' || rest.length > 0 ? Number.NaN : Number(share)]
    }),
  )
}

/** The profiles that are on. @throws {ChaosRefused} for a name that is unknown and a share outside 0 to 1. */
export function checkChaos(shares: Iterable<readonly [name: string, share: number]>): ReadonlyMap<string, number> {
  const on = new Map<string, number>()
  for (const [name, share] of shares) {
    if (!profilesByName.has(name)) {
      throw new ChaosRefused(`There is no profile "${name}". There are: ${names()}.`)
    }
    if (!(share >= 0 && share <= 1)) {
      throw new ChaosRefused(`The share of "${name}" must be a number from 0 to 1. The profiles are: ${names()}.`)
    }
    on.delete(name)
    if (share > 0) on.set(name, share)
  }
  return on
}

function names(): string {
  return profiles.map(({ name }) => name).join(', ')
}
