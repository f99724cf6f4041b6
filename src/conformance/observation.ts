/** What becomes of a statement: kept, not kept, or nothing that would tell came by. */
const verdicts = ['holds', 'differs', 'not observed'] as const
export type Verdict = (typeof verdicts)[number]

/** What was seen on the wire, in words for a table, and what follows from it. */
export type Observation = { seen: string; verdict: Verdict }

export const holds = (seen: string): Observation => ({ seen, verdict: 'holds' })
export const differs = (seen: string): Observation => ({ seen, verdict: 'differs' })
/** `why` says what would have to be the case for an observation. */
export const notObserved = (why: string): Observation => ({ seen: why, verdict: 'not observed' })
/** `otherwise` is what was seen where `seen` says only what should have been. */
export const judged = (kept: boolean, seen: string, otherwise = seen): Observation =>
  kept ? holds(seen) : differs(otherwise)

/** Several parts of one statement: it differs when one part does, and holds when all do. */
export function together(...parts: readonly Observation[]): Observation {
  const worst = (['differs', 'not observed'] as const).find((verdict) => parts.some((part) => part.verdict === verdict))
  return { seen: parts.map(({ seen }) => seen).join('; '), verdict: worst ?? 'holds' }
}

/** Holds when one of several ways to see it was there; an observed difference still counts. */
export function anyOf(...parts: readonly Observation[]): Observation {
  const observed = parts.filter(({ verdict }) => verdict !== 'not observed')
  return together(...(observed.length === 0 ? parts : observed))
}

/** Holds without faults; otherwise differs, with the first few of them. */
export function faultless(faults: readonly string[], seen: string): Observation {
  if (faults.length === 0) return holds(seen)
  const more = faults.length > 3 ? ` and ${faults.length - 3} more` : ''
  return differs(`${faults.slice(0, 3).join(', ')}${more}`)
}
