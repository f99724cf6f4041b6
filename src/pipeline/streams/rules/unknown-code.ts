/**
 * SUBSTITUTE, which stands for a character that could not be carried over. No text of a row that has it is ever valid,
 * whatever is configured later, so what stands in the place of an id can never be sent.
 */
const substitute = '\u001a'

const mark = `${substitute} is not in the lookup `

/** What a row key, which is JSON, has in it where a code in it is unknown. */
export const unknownCodeInKey = JSON.stringify(mark).slice(1, -1)

/**
 * What a column says whose code a lookup does not know: the code, and why it is no more than that. It is a part of the
 * row's content and key, so that the row is another one once the lookup knows the code.
 */
export function unknownCode(code: string, lookup: string, file: string): string {
  return `${code}${mark}${lookup} (${file})`
}

/** The code that stands in such a text, and the rest of it; null: it is none. Pure. */
export function unknownCodeIn(text: string): { code: string; why: string } | null {
  const at = text.lastIndexOf(mark)
  return at === -1 ? null : { code: text.slice(0, at), why: text.slice(at + substitute.length) }
}
