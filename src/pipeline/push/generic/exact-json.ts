import { exactNumber } from '../preflight/answer-value.ts'

/** Deeper values are a mistake, and would end in the stack of whoever writes them. */
const maxDepth = 64

/** Strings and numbers of a text that is known to be JSON; a string is taken whole, whatever it holds. */
const stringOrNumber = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/**
 * A JSON text as a value that says the same when it is written again, or why there is none: numbers that a double
 * cannot hold, a member that is named twice, too deep a nesting. Pure.
 */
export function readExactJson(text: string): { value: unknown } | { problem: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: `'${text.slice(0, 60)}' is no JSON` }
  }
  let named = 0
  for (const [token, colon] of text.matchAll(stringOrNumber)) {
    if (token.startsWith('"')) {
      if (colon !== undefined) named += 1
      continue
    }
    const exact = exactNumber(token)
    if ('problem' in exact) return { problem: `holds a number that JSON does not keep: ${exact.problem}` }
  }
  const members = countMembers(value)
  if (members === null) return { problem: `is nested more than ${maxDepth} levels deep` }
  return members === named ? { value } : { problem: 'names a member of an object twice' }
}

/** Members of all objects in a value, or null when it is nested too deep. Without recursion, for it may be very deep. */
function countMembers(value: unknown): number | null {
  let members = 0
  const open: [value: unknown, depth: number][] = [[value, 0]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [current, depth] = next
    if (typeof current !== 'object' || current === null) continue
    if (depth >= maxDepth) return null
    if (!Array.isArray(current)) members += Object.keys(current).length
    for (const inner of Object.values(current)) open.push([inner, depth + 1])
  }
  return members
}
