import type { Chaos } from './chaos.ts'

/** One kind of trouble that can be asked for. */
export type Profile = {
  name: string
  /** One sentence for people: what happens to what is struck. */
  what: string
  /** The share of occasions that it strikes when none is given. */
  share: number
}

/** A profile as a row of a table. */
type Row = readonly [name: string, share: number, what: string]

const profileOf = ([name, share, what]: Row): Profile => ({ name, what, share })

/** The profiles of a table, under the keys of their rows. */
export function tableOf<Key extends string>(rows: Readonly<Record<Key, Row>>): Readonly<Record<Key, Profile>> {
  const made = Object.entries<Row>(rows).map(([key, row]) => [key, profileOf(row)])
  return Object.fromEntries(made) as Record<Key, Profile>
}

/** Trouble that comes in several cases: one profile for any of them, and one for each. */
type Choice<Case extends string> = { any: Profile; cases: ReadonlyMap<Case, Profile> }

/**
 * The profile of the row picks a case by measure; the profile `<prefix>:<case>` asks for one, with the same default
 * share.
 */
export function choiceOf<Case extends string>(
  row: Row,
  cases: Readonly<Record<Case, string>>,
  prefix = row[0],
): Choice<Case> {
  const any = profileOf(row)
  const entries = Object.entries<string>(cases) as [Case, string][]
  return {
    any,
    cases: new Map(entries.map(([name, what]) => [name, { name: `${prefix}:${name}`, what, share: any.share }])),
  }
}

export function profilesOf<Case extends string>({ any, cases }: Choice<Case>): Profile[] {
  return [any, ...cases.values()]
}

/**
 * The case that strikes, and the name under which the log has it, which is always the case's own. Cases that were asked
 * for by name come first, in the order in which they are listed; `allowed` says which can happen on this occasion.
 */
export function pickCase<Case extends string>(
  chaos: Chaos,
  { any, cases }: Choice<Case>,
  occasion: string,
  allowed: (name: Case) => boolean = () => true,
): { case: Case; name: string } | null {
  const possible = [...cases].filter(([name]) => allowed(name))
  for (const [name, profile] of possible) {
    if (chaos.strikes(profile.name, occasion)) return { case: name, name: profile.name }
  }
  if (possible.length === 0 || !chaos.strikes(any.name, occasion)) return null
  const picked = possible[Math.floor(chaos.measure(any.name, occasion) * possible.length)]
  return picked ? { case: picked[0], name: picked[1].name } : null
}
