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
