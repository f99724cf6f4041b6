/**
 * Text as Postgres can keep it: NUL is shown as its escape and half a surrogate pair as U+FFFD. For what the service
 * says to people; a text that must come back byte for byte is refused instead.
 */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', String.raw`\u0000`)
}

/** A JSON document as jsonb can keep it: one strange character in a message must not keep a task from being stored. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value)
  // JSON escapes exactly the characters that jsonb refuses, so a document without these escapes needs no second pass.
  if (!/\\u(?:0000|d[89a-f])/i.test(text)) return text
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === 'string') return storableText(member)
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).map(([name, inner]) => [storableText(name), inner as unknown]))
  })
}
