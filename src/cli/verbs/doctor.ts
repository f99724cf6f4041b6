import { secretValues } from '../../config/show-config.ts'
import { checks } from '../../doctor/checks-in-order.ts'
import { examine } from '../../doctor/examine.ts'
import { type Finding, type Level, levels, worst } from '../../doctor/finding.ts'
import type { Ward } from '../../doctor/ward.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { openWard } from '../open-ward.ts'
import { conceal } from '../scrubbing.ts'
import { renderFindings } from '../show/render-findings.ts'
import { tableWidth } from '../show/terminal-width.ts'

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
