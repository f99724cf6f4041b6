/** Distinct ids remembered at once: real pages have some hundreds, and a hostile one must not fill the heap. */
const maxRemembered = 50_000

/**
 * Gives every variable id of a page a small integer, so that millions of staged values carry that and not the id.
 * An id that was forgotten gets a second one, which names the same variable.
 * @param announce told of every integer given out.
 */
export function createVariableReferences(
  announce: (reference: number, variableId: string) => void,
): (variableId: string) => number {
  const known = new Map<string, number>()
  let last = 0
  return (variableId) => {
    const reference = known.get(variableId)
    if (reference !== undefined) return reference
    if (known.size >= maxRemembered) known.clear()
    known.set(variableId, ++last)
    announce(last, variableId)
    return last
  }
}
