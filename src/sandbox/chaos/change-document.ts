/** Numbers from 0 up to, not including, 1: the same ones for the same start, which is such a number itself. */
export function randomFrom(start: number): () => number {
  let state = Math.floor(start * 0x1_0000_0000) | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

/** The elements in another order than the given one, if there are two or more. */
export function shuffle<T>(elements: readonly T[], random: () => number): T[] {
  const left = [...elements]
  const drawn: T[] = []
  while (left.length > 0) drawn.push(...left.splice(Math.floor(random() * left.length), 1))
  if (drawn.some((element, index) => element !== elements[index])) return drawn
  return [...drawn.slice(1), ...drawn.slice(0, 1)]
}

/** The same value with the members of every object in another order. */
export function shuffleKeys(value: unknown, random: () => number): unknown {
  if (Array.isArray(value)) return value.map((element) => shuffleKeys(element, random))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([key, member]) => [key, shuffleKeys(member, random)] as const)
  return Object.fromEntries(shuffle(members, random))
}

/**
 * The value with two members that nobody knows in each of its objects, one in front and one behind. Objects that stand
 * under one of the names `maps` are keyed by ids: a member more would be a value more there, so they get none.
 */
export function withUnknownFields(value: unknown, maps: ReadonlySet<string> = new Set()): unknown {
  if (Array.isArray(value)) return value.map((element) => withUnknownFields(element, maps))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [
    name,
    maps.has(name) ? member : withUnknownFields(member, maps),
  ])
  return Object.fromEntries([['introducedLater', { since: 2031, by: [null, true] }], ...members, ['alsoNew', 'later']])
}
