import { type Finding, type Group, groups, type Level, levels } from '../../doctor/finding.ts'
import { readable } from './readable.ts'
import { wrap } from './table.ts'

/**
 * The findings by group, each with what it means and what to do, in lines of a width at most; then how many there are
 * of each level.
 * @param quiet leaves out what is well, but counts it.
 */
export function renderFindings(findings: readonly Finding[], width: number, quiet = false): string {
  const parts = (Object.keys(groups) as Group[]).flatMap((group) => {
    const own = findings.filter((finding) => finding.group === group && (!quiet || finding.level !== 'ok'))
    return own.length === 0 ? [] : [[groups[group], ...own.flatMap((finding) => linesOf(finding, width))].join('\n')]
  })
  return [...parts, `${sumOf(findings)}.`].join('\n\n')
}

const labels: Record<Level, string> = { ok: 'ok', advice: 'advice', warning: 'WARNING', error: 'ERROR' }
const labelWidth = 9

function linesOf({ id, subject, level, what, why, todo, made }: Finding, width: number): string[] {
  const name = subject === null || what.includes(subject) ? id : `${id} ${subject}`
  const sentence = (words: string) => (/[.!?:]$/.test(words) ? words : `${words}.`)
  const said = [
    `${name}: ${sentence(what)}`,
    // Of a check that was not made the reason is enough: what to do is told where that is.
    ...(why === null || !made ? [] : [`Why it matters: ${sentence(why)}`]),
    ...(todo === null || !made ? [] : [`What to do: ${sentence(todo)}`]),
  ]
  const beside = Math.max(20, width - labelWidth - 2)
  return said
    .flatMap((words) => wrap(readable(words), beside))
    .map((line, at) => `  ${(at === 0 ? labels[level] : '').padEnd(labelWidth)}${line}`)
}

function sumOf(findings: readonly Finding[]): string {
  const words: Record<Level, [one: string, many: string]> = {
    error: ['error', 'errors'],
    warning: ['warning', 'warnings'],
    advice: ['piece of advice', 'pieces of advice'],
    ok: ['check is well', 'checks are well'],
  }
  return levels
    .toReversed()
    .map((level) => {
      const count = findings.filter((finding) => finding.level === level).length
      return `${count} ${words[level][count === 1 ? 0 : 1]}`
    })
    .join(', ')
}
