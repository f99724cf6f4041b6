/** A table as the pages have them: every bar stands under the one above. An empty list of rows makes no table. Pure. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((row) => width(row[column] ?? title))))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell))).join(' | ')} |`
  return [line(head), line(widths.map((wide) => '-'.repeat(wide))), ...rows.map(line)].join('\n')
}

/**
 * Text of the program, as a sentence: with a capital letter and a full stop, and nothing that Markdown reads as HTML.
 * Pure.
 */
export function sentence(text: string): string {
  const safe = text.replaceAll('<', '\\<').replaceAll('|', '\\|')
  return `${safe.charAt(0).toUpperCase()}${safe.slice(1)}${/[.!?]$/.test(safe) ? '' : '.'}`
}

export function code(text: string): string {
  return `\`${text}\``
}

/** Paragraphs, lists and tables, each apart from the next; what is empty leaves no gap. */
export function blocks(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n')
}

function width(text: string): number {
  return Array.from(text).length
}
