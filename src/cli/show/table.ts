import { createRequire } from 'node:module'
import { type Cli, printLine, tableWidth, UsageError } from '../cli.ts'
import { readable } from './readable.ts'

export type Cell = string | number | null

const gap = 2

/**
 * A table for a terminal: numbers to the right, text to the left, wide scripts counted as wide. Where it is wider than
 * `width`, the widest columns of text become narrower and their cells go on in further lines, with words broken only
 * where they have to be; nothing is cut off. Where even that does not fit, each row becomes a list of its cells.
 */
export function table(columns: readonly string[], rows: readonly (readonly Cell[])[], width = tableWidth()): string {
  const headers = columns.map(readable)
  const texts = rows.map((row) => row.map((cell) => (cell === null ? '–' : readable(String(cell)))))
  const numeric = headers.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] !== 'string'))
  const natural = headers.map((header, column) =>
    Math.max(textWidth(header), ...texts.map((row) => textWidth(row[column] ?? ''))),
  )
  const whole = headers.map((header, column) => longestWord([header, ...texts.map((row) => row[column] ?? '')]))
  const widths = narrowed(natural, numeric, whole, width - gap * (columns.length - 1))
  if (widths === null) return asLists(headers, texts, numeric, width)
  const lines = (cells: readonly string[]) => {
    const wrapped = cells.map((cell, column) => wrap(cell, widths[column] ?? 0))
    const height = Math.max(...wrapped.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) =>
      wrapped
        .map((parts, column) => {
          const part = parts[line] ?? ''
          const space = ' '.repeat(Math.max(0, (widths[column] ?? 0) - textWidth(part)))
          return numeric[column] ? space + part : part + space
        })
        .join(' '.repeat(gap))
        .trimEnd(),
    )
  }
  const rule = widths.map((wide) => '─'.repeat(wide)).join('─'.repeat(gap))
  return [...lines(headers), rule, ...texts.flatMap(lines)].join('\n')
}

/** A column of text that is narrower can hardly be read. */
const narrowestText = 10
/** Words up to this length, such as the names of jobs, streams and kinds, stay whole where there is room for it. */
const longestWhole = 24

/** The longest of those words of a column that are to stay whole. */
function longestWord(texts: readonly string[]): number {
  const words = texts.flatMap((text) => text.split(' ')).map(textWidth)
  return words.reduce((longest, wide) => (wide <= longestWhole ? Math.max(longest, wide) : longest), 0)
}

/**
 * Widths that fit, taken from the widest columns first; null where there are none. Numbers are never broken.
 * @param whole how wide the words of each column are. Where there is no room for all, the longest are broken.
 */
function narrowed(
  natural: readonly number[],
  numeric: readonly boolean[],
  whole: readonly number[],
  room: number,
): number[] | null {
  const narrowest = natural.map((wide, column) => (numeric[column] ? wide : Math.min(wide, narrowestText)))
  const least = natural.map((wide, column) => Math.min(wide, Math.max(narrowest[column] ?? 0, whole[column] ?? 0)))
  while (sum(least) > room) {
    const over = least.map((wide, column) => (wide > (narrowest[column] ?? 0) ? wide : 0))
    const longest = Math.max(...over)
    if (longest === 0) return null
    least[over.indexOf(longest)] = longest - 1
  }
  const widths = [...natural]
  for (let over = sum(widths) - room; over > 0; over = sum(widths) - room) {
    const open = widths.flatMap((wide, column) => (wide > (least[column] ?? 0) ? [{ wide, column }] : []))
    const widest = Math.max(...open.map(({ wide }) => wide))
    const level = open.filter(({ wide }) => wide === widest)
    const next = Math.max(0, ...open.filter(({ wide }) => wide < widest).map(({ wide }) => wide))
    const step = Math.max(1, Math.min(widest - next, Math.floor(over / level.length)))
    for (const { column } of level.slice(0, over)) widths[column] = Math.max(least[column] ?? 0, widest - step)
  }
  return widths
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** A text in lines of a width at most, broken at spaces where there are any. */
export function wrap(text: string, width: number): string[] {
  if (textWidth(text) <= width) return [text]
  const lines: string[] = []
  let line = ''
  const end = () => {
    lines.push(line)
    line = ''
  }
  for (const word of text.split(' ')) {
    if (line !== '' && textWidth(`${line} ${word}`) > width) end()
    line = line === '' ? word : `${line} ${word}`
    while (textWidth(line) > width) {
      const head = beginningOf(line, width)
      const rest = line.slice(head.length)
      line = head
      end()
      line = rest
    }
  }
  end()
  return lines
}

/** As many characters as fit, one at least. */
function beginningOf(text: string, width: number): string {
  let taken = ''
  for (const character of text) {
    if (taken !== '' && textWidth(taken + character) > width) break
    taken += character
  }
  return taken
}

/** Numbers side by side, from this many on, share lines: a row of twelve counts would fill half a screen. */
const sharingNumbers = 3

/** Each row as a list of its cells; numbers that stand side by side share lines. */
function asLists(
  headers: readonly string[],
  texts: readonly (readonly string[])[],
  numeric: readonly boolean[],
  width: number,
): string {
  const shares = headers.map((_, column) => sharesLines(numeric, column))
  const label = Math.max(0, ...headers.map((header, column) => (shares[column] ? 0 : textWidth(header))))
  const beside = Math.max(1, width - label - gap)
  const rule = '─'.repeat(Math.min(width, label + gap + narrowestText))
  if (texts.length === 0) return [headers.join(', '), rule].join('\n')
  return texts
    .flatMap((row) => [
      rule,
      ...headers.flatMap((header, column) => {
        if (shares[column]) return shares[column - 1] ? [] : sharedLines(headers, row, shares, column, width)
        return wrap(row[column] ?? '', beside).map((part, line) => {
          const head = line === 0 ? header : ''
          return `${head}${' '.repeat(label - textWidth(head) + gap)}${part}`.trimEnd()
        })
      }),
    ])
    .join('\n')
}

/** Whether a column is one of several numbers side by side. */
function sharesLines(numeric: readonly boolean[], column: number): boolean {
  if (!numeric[column]) return false
  const from = numeric.lastIndexOf(false, column) + 1
  const end = numeric.indexOf(false, column)
  return (end === -1 ? numeric.length : end) - from >= sharingNumbers
}

/** The numbers from a column on, each with its name, in lines that break between two of them. */
function sharedLines(
  headers: readonly string[],
  row: readonly string[],
  shares: readonly boolean[],
  column: number,
  width: number,
): string[] {
  const end = shares.indexOf(false, column)
  const named = headers.slice(column, end === -1 ? undefined : end).map((header, at) => `${header} ${row[column + at]}`)
  const unbroken = named.map((one) => one.replaceAll(' ', '\u00a0')).join(', ')
  return wrap(unbroken, width).map((line) => line.replaceAll('\u00a0', ' '))
}

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

/** How a verb prints a list. */
type Form = { limit: number; json?: boolean; csv?: boolean }

/** @throws {UsageError} when a list is wanted in two forms at once. */
export function requireOneForm({ json, csv }: Omit<Form, 'limit'>): void {
  if (csv && json) throw new UsageError('--csv and --json: choose one')
}

/**
 * As many of a list as were asked for, which was read with one row beyond the limit. Beside JSON and CSV it says on
 * standard error that it was cut: neither has a place for that.
 * @param noun what its rows are, of a verb that has several lists.
 * @param which of them come first.
 * @returns with `cut` what stands under a table; null where everything is shown.
 */
export function cutList<T>(
  cli: Cli,
  { limit, json, csv }: Form,
  rows: readonly T[],
  noun?: string,
  which: 'newest' | 'first' = 'newest',
): { rows: T[]; cut: string | null } {
  if (rows.length <= limit) return { rows: [...rows], cut: null }
  const cut = `The ${which} ${limit}${noun === undefined ? '' : ` ${noun}`}; --limit shows more.`
  if (json || csv) printLine(cli.stderr, cut)
  return { rows: rows.slice(0, limit), cut }
}
