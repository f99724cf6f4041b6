/**
 * What a loop of assertions goes over. A loop over nothing asserts nothing, so there must be something.
 * @throws if there is nothing.
 */
export function some<T>(items: Iterable<T>): T[] {
  const all = [...items]
  if (all.length === 0) throw new Error('there is nothing to assert over')
  return all
}
