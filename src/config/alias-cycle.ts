/**
 * Where a document of YAML contains itself, as a dotted path: an alias may stand inside what it refers to. Anyone who
 * walks such a document never comes to its end. Null: nowhere.
 */
export function aliasCycle(value: unknown): string | null {
  const sound = new Set<object>()
  const above = new Set<object>()
  const walk = (node: unknown, path: readonly string[]): string | null => {
    if (typeof node !== 'object' || node === null || sound.has(node)) return null
    if (above.has(node)) return path.join('.')
    above.add(node)
    for (const [key, entry] of Object.entries(node)) {
      const found = walk(entry, [...path, key])
      if (found !== null) return found
    }
    above.delete(node)
    sound.add(node)
    return null
  }
  return walk(value, [])
}
