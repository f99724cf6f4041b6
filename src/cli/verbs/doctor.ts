import { secretValues } from '../../config/show-config.ts'
import { checks, examine } from '../../doctor/examine.ts'
import { type Finding, type Group, groups, type Level, levels, type Ward, worst } from '../../doctor/ward.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, tableWidth } from '../cli.ts'
import { openWard } from '../open-ward.ts'
import { conceal } from '../scrubbing.ts'
import { readable } from '../show/readable.ts'
import { wrap } from '../show/table.ts'

export type DoctorOptions = CommonOptions & { quiet?: boolean }

/** `nightferry doctor`: what keeps a night from going well, what that means, and what to do. Changes nothing. */
export async function doctor(cli: Cli, options: DoctorOptions): Promise<ExitCode> {
  await using ward = openWard(cli, options)
  const findings = await diagnosis(cli, ward)
  const level = worst(findings)
  const shown = findings.filter((finding) => options.quiet !== true || finding.level !== 'ok')
  if (options.json) printJson(cli.stdout, { level, counts: countsOf(findings), findings: shown })
  else printLine(cli.stdout, renderFindings(findings, tableWidth(), options.quiet))
  return level === 'error' ? exitCodes.failed : level === 'warning' ? exitCodes.partial : exitCodes.well
}

/** Every finding, without the secrets of the configuration wherever somebody else's words repeat them. */
export async function diagnosis(cli: Cli, ward: Ward): Promise<Finding[]> {
  const findings = await examine(checks, ward, { signal: cli.signal })
  const secrets = await ward.config().then(secretValues, () => [])
  const clean = conceal(secrets)
  return findings.map((one) => ({ ...one, what: clean(one.what), todo: one.todo === null ? null : clean(one.todo) }))
}

function countsOf(findings: readonly Finding[]): Record<Level, number> {
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length
  return Object.fromEntries(levels.map((level) => [level, count(level)])) as Record<Level, number>
}

/**
 * The findings by group, each with what it means and what to do, in lines of a width at most; then how many there are
 * of each level.
 * @param quiet leaves out what is well, but counts it.
 */
function renderFindings(findings: readonly Finding[], width: number, quiet = false): string {
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
