import type { ConformanceResult } from '../../conformance/run-conformance.ts'
import { counted, duration, grouped, readable } from './readable.ts'
import { type Cell, table } from './table.ts'
import { textWidth } from './text-width.ts'

/** Columns that are never wrapped: an id, a verdict, and what stands between columns. */
const fixed = { id: 46, source: 7, verdict: 12, gaps: 6 }

/** Narrower than this, columns of words are of no use. */
const narrowest = 18

/**
 * The result for a person: a table of statements, a table of names, and a summary. `width`: columns of the terminal.
 */
export function renderConformance(result: ConformanceResult, width: number): string {
  return [statements(result, width), '', nameTable(result, width), '', ...summary(result)].join('\n')
}

function statements({ entries }: ConformanceResult, width: number): string {
  const words = Math.max(2 * narrowest, width - fixed.id - fixed.verdict - fixed.gaps)
  const ruleWidth = Math.floor(words * 0.45)
  const rows: Cell[][] = []
  let heading = ''
  for (const { id, section, rule, seen, verdict } of entries) {
    if (section !== heading) rows.push([`▸ ${section}`, '', '', ''])
    heading = section
    rows.push(
      ...wrapped([id, rule, seen, shownVerdict(verdict)], [fixed.id, ruleWidth, words - ruleWidth, fixed.verdict]),
    )
  }
  return table(['section', 'rule', 'seen', 'verdict'], rows)
}

function nameTable({ names }: ConformanceResult, width: number): string {
  const words = Math.max(2 * narrowest, width - fixed.id - fixed.source - fixed.verdict - fixed.gaps - 2)
  const writtenWidth = Math.floor(words * 0.4)
  const widths = [fixed.id, fixed.source, writtenWidth, words - writtenWidth, fixed.verdict]
  const rows = names.flatMap(({ key, source, written, seen, verdict }) =>
    wrapped([key, source, written, seen, shownVerdict(verdict)], widths),
  )
  return table(['name of the contract', 'source', 'written', 'seen', 'verdict'], rows)
}

function shownVerdict(verdict: string): string {
  return verdict === 'differs' ? 'DIFFERS' : verdict
}

function summary({ entries, names, counts, nameCounts, sent, ms }: ConformanceResult): string[] {
  const line = (what: string, all: number, of: ConformanceResult['counts']) =>
    `${grouped(all)} ${what}: ${grouped(of.holds)} hold, ${grouped(of.differs)} differ, ${grouped(of['not observed'])} not observed`
  const calls = Object.values(sent).reduce((sum, count) => sum + count, 0)
  const differing = [...entries, ...names.map(({ key, ...name }) => ({ ...name, id: key }))].filter(
    ({ verdict }) => verdict === 'differs',
  )
  return [
    ...differing.map(({ id, seen }) => `differs  ${readable(id)}: ${readable(seen)}`),
    `${line('statements', entries.length, counts)}. ${line('names', names.length, nameCounts)}. ${counted(calls, 'call')} in ${duration(ms)}.`,
  ]
}

/** One row of texts as several, each as wide as its column at most. */
function wrapped(texts: readonly string[], widths: readonly number[]): Cell[][] {
  const cells = texts.map((text, column) => wrap(readable(text), widths[column] ?? narrowest))
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, line) => cells.map((lines) => lines[line] ?? ''))
}

/** Breaks at spaces; a word that is wider than the column is broken too. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (textWidth(longer) <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = ''
    for (const character of word) {
      if (textWidth(line + character) > width) {
        lines.push(line)
        line = ''
      }
      line += character
    }
  }
  return [...lines, line]
}
