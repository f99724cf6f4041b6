import type { Config } from '../../config/schema.ts'
import type { RunProgress } from '../../db/runs/progress.ts'
import { nightlySync } from '../../jobs/nightly-sync.ts'
import { expectNews, tellNews } from '../../jobs/tell-news.ts'
import { triggerRun } from '../../jobs/trigger-run.ts'
import type { RunReport } from '../../pipeline/report/report.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { followRun } from '../follow-run.ts'
import { type Ferry, openFerry } from '../open-ferry.ts'
import { readConfig } from '../read-config.ts'
import { readable } from '../show/readable.ts'
import { renderReport } from '../show/render-report.ts'
import { UsageError } from '../usage-error.ts'

/** `nightferry run <job>`: starts a job, or goes on with the run that was interrupted, and follows it to its end. */
export async function run(cli: Cli, jobName: string, options: CommonOptions): Promise<ExitCode> {
  if (jobName !== nightlySync.name) throw new UsageError(`There is no job ${jobName}; there is ${nightlySync.name}`)
  const ferry = await openToFollow(cli, readConfig(cli, options))
  try {
    const { code, document } = await runToEnd(cli, ferry, options.json === true)
    if (options.json) printJson(cli.stdout, document)
    return code
  } finally {
    await ferry.close()
  }
}

/**
 * Whoever follows a run reads how it gets on, its warnings, and why it failed; all of it again as log lines would bury
 * that.
 */
export function quietConfig(config: Config): Config {
  return { ...config, log: { level: config.log.level === 'info' ? 'silent' : config.log.level } }
}

/** Opens what a run needs for a person who follows it. Whoever set a log level gets the log itself instead. */
export async function openToFollow(cli: Cli, config: Config): Promise<Ferry> {
  return await openFerry(cli, quietConfig(config), config.log.level === 'info' ? 'follower' : 'person')
}

/** How a run ended, and what is printed of it with `--json`. */
export type RunEnded = { code: ExitCode; document: object }

/** Triggers the nightly job and follows it; prints its report as text, unless the caller prints it as JSON. */
export async function runToEnd(cli: Cli, { deps, lost }: Ferry, json: boolean): Promise<RunEnded> {
  await expectNews(deps, nightlySync)
  const triggered = await triggerRun(deps, nightlySync, 'cli', deps.now())
  if (triggered === null) throw new UsageError('A run was started at this very instant; look at nightferry runs')
  const { run: started, resumed } = triggered
  if (resumed)
    printLine(cli.stderr, `Run ${started.run_id} is under way at the step ${started.step}: going on with it.`)
  const following = { ...cli, signal: AbortSignal.any([cli.signal, lost]) }
  const ended = await followRun(following, deps.db, started.run_id).catch((error: unknown) => {
    throw lost.aborted ? lost.reason : error
  })
  const result = shownEnd(cli, ended, json)
  await tellNews(deps, nightlySync, following.signal)
  return result
}

function shownEnd(cli: Cli, ended: RunProgress, json: boolean): RunEnded {
  if (ended.state === 'failed') {
    const { step, code, message } = ended.failure ?? { step: ended.step, code: 'internal_error', message: '' }
    printLine(cli.stderr, `Run ${ended.run_id} failed at the step ${step} (${readable(code)}):`)
    printLine(cli.stderr, `  ${readable(message)}`)
    return {
      code: exitCodes.failed,
      document: { run_id: ended.run_id, verdict: 'failed', failure: ended.failure },
    }
  }
  const report = ended.report as RunReport
  if (!json) cli.stdout.write(renderReport(report))
  return { code: exitCodeOf(report.verdict), document: report }
}

function exitCodeOf(verdict: RunReport['verdict']): ExitCode {
  if (verdict === 'succeeded') return exitCodes.well
  return verdict === 'partial' ? exitCodes.partial : exitCodes.failed
}
