/** What a ledger row's content is made of: texts as the partner's server printed them, and members within members. */
export type JsonbValue = string | null | { readonly [member: string]: JsonbValue }

/**
 * A value as the server writes it when it is `jsonb`: members by the length of their names in bytes, then by the bytes,
 * and a space after each colon and comma. Equal contents have equal texts, whichever of the two wrote them; the hash of
 * a ledger row's content is taken over this text. Pure.
 */
export function jsonbText(value: JsonbValue): string {
  if (value === null || typeof value === 'string') return JSON.stringify(value)
  const { sorted, written } = membersOf(Object.keys(value))
  let text = '{'
  for (let index = 0; index < sorted.length; index++) {
    text += written[index] + jsonbText(value[sorted[index] ?? ''] ?? null)
  }
  return `${text}}`
}

/** Names of members in the server's order, and what it writes before the value of each. */
type Members = { names: readonly string[]; sorted: readonly string[]; written: readonly string[] }

/** The members met last, by how many they are: sorting takes long, and rows of a stream mostly have the same. */
const metLast: Members[] = []

function membersOf(names: readonly string[]): Members {
  const met = metLast[names.length]
  if (met?.names.every((name, index) => name === names[index])) return met
  const sorted = names.toSorted(byLengthAndBytes)
  const written = sorted.map((name, index) => `${index === 0 ? '' : ', '}${JSON.stringify(name)}: `)
  const members = { names, sorted, written }
  if (names.length <= mostMembersKept) metLast[names.length] = members
  return members
}

/** Rows with more members are rare. */
const mostMembersKept = 64

function byLengthAndBytes(one: string, other: string): number {
  if (plain.test(one) && plain.test(other)) return one.length - other.length || (one < other ? -1 : 1)
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length - b.length || a.compare(b)
}

/** Characters of which each is one byte. */
const plain = /^[ -~]*$/
