import { uuidOf } from '../exchange/wire-value.ts'
import type { Named } from './told-to-init.ts'

/** Ids with their names, a comment line each; none: one that says so. Pure. */
export function listed(entries: readonly Named[], before = '  #   '): string[] {
  if (entries.length === 0) return [`${before}none`]
  return entries.map(({ id, name }) => `${before}${oneLine(`${id}  ${name}`)}`)
}

/** An id or a name in a comment must not end it. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
}

/** A text as YAML reads it back, whatever it holds: JSON is YAML. */
export function quoted(text: string): string {
  if (uuidOf(text) !== null) return text
  return /^[a-z][\w.:/-]*$/i.test(text) && !/^(true|false|null|yes|no|on|off)$/i.test(text) && !text.endsWith(':')
    ? text
    : JSON.stringify(text)
}
