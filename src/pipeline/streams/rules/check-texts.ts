import type { RowContent } from './row-content.ts'

/**
 * Controls that no text has on purpose; tabulators and line ends are let through. Those from U+0080 to U+009F are left
 * by text that was read in the wrong encoding.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose.
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/ // oxlint-disable-line no-control-regex

/** What is wrong with the characters or the length of one of a row's texts, whatever it means; or null. */
export function checkTexts(content: RowContent, maxLength: number): string | null {
  for (const name in content) {
    const value = content[name]
    if (typeof value === 'string') {
      const problem = checkText(name, value, maxLength)
      if (problem !== null) return problem
    } else if (typeof value === 'object' && value !== null) {
      const problem = checkTexts(value as RowContent, maxLength)
      if (problem !== null) return problem
    }
  }
  return null
}

/** The same of one text, which the reason calls `name`. */
export function checkText(name: string, value: string, maxLength: number): string | null {
  if (value.length > maxLength) {
    return `${name} has ${value.length} characters; push.maxTextLength allows ${maxLength}, a limit of ours: the service states none`
  }
  const found = control.exec(value)
  if (found !== null) {
    const code = found[0].charCodeAt(0)
    const why = code === 0 ? ', which can be neither stored nor sent' : code > 0x7f ? ': is its encoding right?' : ''
    return `${name} holds the control character ${codePoint(code)} at position ${found.index + 1}${why}`
  }
  if (!value.isWellFormed()) return `${name} holds half of a surrogate pair: it was cut in the middle of a character`
  return null
}

function codePoint(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}
