import stringWidth from 'string-width'
import { readable } from './readable.ts'

export type Cell = string | number | null

/** A table for a terminal: numbers to the right, text to the left, wide scripts counted as wide. */
export function table(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const headers = columns.map(readable)
  const texts = rows.map((row) => row.map((cell) => (cell === null ? '–' : readable(String(cell)))))
  const widths = headers.map((header, column) =>
    Math.max(stringWidth(header), ...texts.map((row) => stringWidth(row[column] ?? ''))),
  )
  const numeric = headers.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] !== 'string'))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => {
        const space = ' '.repeat((widths[column] ?? 0) - stringWidth(cell))
        return numeric[column] ? space + cell : cell + space
      })
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join('──')
  return [line(headers), rule, ...texts.map(line)].join('\n')
}
