/** Stands in front of a number that is kept as it is written; a character for private use. */
const mark = '\ue000'

/** The texts and the numbers of JSON. */
const parts = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Reads JSON whose numbers may have more digits than a double keeps. `exactText` shows it as it came. */
export function parseExact<T>(text: string): T {
  const kept = text.replace(parts, (part) =>
    part.startsWith('"') || String(Number(part)) === part ? part : `"${mark}${part}"`,
  )
  return JSON.parse(kept) as T
}

/** What `parseExact` read, as JSON: every number as it was written. */
export function exactText(read: unknown, indent = 0): string {
  return JSON.stringify(read, null, indent).replace(/"\ue000(-?\d[\d.eE+-]*)"/g, '$1')
}
