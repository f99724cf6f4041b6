import { nightlySync } from '../jobs/nightly-sync.ts'
import { triggerRun } from '../jobs/trigger-run.ts'
import type { RunReport } from '../pipeline/report/report.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from './cli.ts'
import { followRun } from './follow-run.ts'
import { readConfig } from './open-database.ts'
import { type Ferry, openFerry } from './open-ferry.ts'
import { readable } from './readable.ts'
import { renderReport } from './render-report.ts'
import { UsageError } from './usage-error.ts'

/** `nightferry run <job>`: starts a job, or goes on with the run that was interrupted, and follows it to its end. */
export async function run(cli: Cli, jobName: string, options: CommonOptions): Promise<ExitCode> {
  if (jobName !== nightlySync.name) throw new UsageError(`There is no job ${jobName}; there is ${nightlySync.name}`)
  const config = readConfig(cli, options)
  // Whoever follows a run reads how it gets on and why it failed; the same again as log lines would bury that.
  const quiet = { ...config, log: { level: config.log.level === 'info' ? ('silent' as const) : config.log.level } }
  const ferry = await openFerry(cli, quiet)
  try {
    return await runToEnd(cli, ferry, options.json === true)
  } finally {
    await ferry.close()
  }
}

/** Triggers the nightly job and follows it; prints its report. */
export async function runToEnd(cli: Cli, { deps }: Ferry, json: boolean): Promise<ExitCode> {
  const triggered = await triggerRun(deps, nightlySync, 'cli', deps.now())
  if (triggered === null) throw new UsageError('A run was started at this very instant; look at nightferry runs')
  const { run: started, resumed } = triggered
  if (resumed)
    printLine(cli.stderr, `Run ${started.run_id} is under way at the step ${started.step}: going on with it.`)
  const ended = await followRun(cli, deps.db, started.run_id)
  if (ended.state === 'failed') {
    if (json) printJson(cli.stdout, { run_id: ended.run_id, verdict: 'failed', failure: ended.failure })
    const { step, code, message } = ended.failure ?? { step: ended.step, code: 'unknown', message: '' }
    printLine(cli.stderr, `Run ${ended.run_id} failed at the step ${step} (${readable(code)}):`)
    printLine(cli.stderr, `  ${readable(message)}`)
    return exitCodes.failed
  }
  const report = ended.report as RunReport
  if (json) printJson(cli.stdout, report)
  else cli.stdout.write(renderReport(report))
  return exitCodeOf(report.verdict)
}

export function exitCodeOf(verdict: RunReport['verdict']): ExitCode {
  if (verdict === 'succeeded') return exitCodes.well
  return verdict === 'partial' ? exitCodes.partial : exitCodes.failed
}
