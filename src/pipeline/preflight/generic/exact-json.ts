import { exactNumber } from '../../streams/rules/answer-value.ts'

/** Deeper values are a mistake, and would end in the stack of anyone who writes them. */
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
  let escaped = false
  for (const [token, colon] of text.matchAll(stringOrNumber)) {
    if (token.startsWith('"')) {
      if (colon !== undefined) named += 1
      if (colon !== undefined && token.includes('\\')) escaped = true
      continue
    }
    const exact = exactNumber(token)
    if ('problem' in exact) return { problem: `holds a number that JSON does not keep: ${exact.problem}` }
  }
  if (countMembers(value) === null) return { problem: `is nested more than ${maxDepth} levels deep` }
  if (escaped) value = withNamesAsTexts(text)
  const members = countMembers(value)
  return members === named ? { value } : { problem: 'names a member of an object twice' }
}

const textOrMark = /"(?:[^"\\]|\\.)*"|[{}:]/g

/** Objects as the list of their names and values, under a name without escapes. */
const asLists: Record<string, string> = { '{': '{"":[', ':': ',', '}': ']}' }

/**
 * What a text says that is known to be JSON and not deep, where names have escapes: V8 up to 14.6 at least may take
 * such a name for another that it has met before, https://github.com/nodejs/node/issues/63785. Texts that are no names
 * it reads.
 */
function withNamesAsTexts(text: string): unknown {
  return objectsOf(JSON.parse(text.replaceAll(textOrMark, (token) => asLists[token] ?? token)))
}

function objectsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(objectsOf)
  if (typeof value !== 'object' || value === null) return value
  const { '': list } = value as { '': unknown[] }
  const members = list.flatMap((name, at) => (at % 2 === 0 ? [[String(name), objectsOf(list[at + 1])] as const] : []))
  return Object.fromEntries(members)
}

/**
 * Members of all objects in a value, or null when it is nested too deep. Without recursion, for it may be very deep.
 */
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
