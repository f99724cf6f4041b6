import { createRequire } from 'node:module'

/** What nearly every text for people is made of, each one column wide. */
const plain = /^[\x20-\x7e–─…]*$/

let measure: ((text: string) => number) | undefined

/**
 * How many columns of a terminal a text takes, wide scripts counted as wide. What knows of all scripts takes longer to
 * load than a small table to print, so it is loaded for the first text that needs it.
 */
export function textWidth(text: string): number {
  if (plain.test(text)) return text.length
  measure ??= (createRequire(import.meta.url)('string-width') as typeof import('string-width')).default
  return measure(text)
}
