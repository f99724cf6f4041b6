/** Whether Postgres keeps this text exactly: no NUL, no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/**
 * The text with what Postgres cannot keep replaced by U+FFFD. For the request log and for a world file, never for what
 * was sent.
 */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** How names are compared: compatibility forms, letter case and runs of white space make no difference. */
export function nameKey(name: string): string {
  return name.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}
