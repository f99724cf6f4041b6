/** What a ledger row's content is made of: texts as the partner's server printed them, and members within members. */
export type JsonbValue = string | null | { readonly [member: string]: JsonbValue }

/**
 * A value as the server writes it when it is `jsonb`: members by the length of their names in bytes, then by the bytes,
 * and a space after each colon and comma. Equal contents have equal texts, whichever of the two wrote them; the hash of
 * a ledger row's content is taken over this text. Pure.
 */
export function jsonbText(value: JsonbValue): string {
  if (value === null || typeof value === 'string') return JSON.stringify(value)
  let text = ''
  for (const name of Object.keys(value).sort(byLengthAndBytes)) {
    text += `${text === '' ? '' : ', '}${JSON.stringify(name)}: ${jsonbText(value[name] ?? null)}`
  }
  return `{${text}}`
}

function byLengthAndBytes(one: string, other: string): number {
  if (plain.test(one) && plain.test(other)) return one.length - other.length || (one < other ? -1 : 1)
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length - b.length || a.compare(b)
}

/** Characters of which each is one byte. */
const plain = /^[ -~]*$/
