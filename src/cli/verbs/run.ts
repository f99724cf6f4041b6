import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import { isSending, night } from '../../config/known-names.ts'
import { requireSettings } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { counted } from '../../counted.ts'
import type { Database } from '../../db/database.ts'
import { isConnectionLost } from '../../db/database-trouble.ts'
import { type RunProgress, runProgress } from '../../db/runs/run-progress.ts'
import type { RunAsked } from '../../db/tables/run-tables.ts'
import { given } from '../../given.ts'
import { countHousekeeping, housekeeping } from '../../jobs/housekeeping.ts'
import { needsToSend } from '../../jobs/job.ts'
import { jobsOf, nightlySync, noJobWords } from '../../jobs/known-jobs.ts'
import { expectNews, tellWhereNobodyDoes } from '../../jobs/tell-news.ts'
import { checkSteps, JobRefused, triggerJob } from '../../jobs/trigger-run.ts'
import type { RunReport } from '../../pipeline/report/report.ts'
import { needsGroup } from '../../pipeline/streams/our-streams.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { type Ferry, openFerry, quietConfig, type RunEnds } from '../open-ferry.ts'
import { readConfig, readContract } from '../read-config.ts'
import { byteWords, moment, readable } from '../show/readable.ts'
import { endDocument, renderEnd } from '../show/render-report.ts'
import { table } from '../show/table.ts'
import { thenClose } from '../whole-process.ts'
import { actingUser, withDatabase } from '../with-database.ts'

export type RunOptions = CommonOptions & { only?: string[]; stream?: string[]; since?: string; dryRun?: boolean }

/**
 * `nightferry run <job>`: starts a job, or goes on with the run that was interrupted, and follows it to its end. A run
 * that was asked for otherwise is refused: its end would be taken for that of what was asked for.
 */
export async function run(cli: Cli, jobName: string, options: RunOptions): Promise<ExitCode> {
  const config = readConfig(cli, options)
  const job = jobsOf(config).find(({ name }) => name === jobName)
  if (job === undefined && !isSending(jobName)) throw new UsageError(noJobWords(config, jobName))
  if (options.dryRun === true) return await dryRun(cli, jobName, options)
  if (job === undefined || needsToSend(job, given({ only: options.only }))) {
    requireSettings(config, needsGroup(readContract(cli, config), config.streams))
  }
  const ferry = await openToFollow(cli, config)
  const { only, stream: streams, since } = options
  const asked = given({ only, streams, since })
  const show = options.json === true ? (document: object) => printJson(cli.stdout, document) : 'text'
  const work = async () => (await runToEnd(cli, ferry, show, jobName, asked).catch(refusedAsUsage)).code
  return await thenClose(cli, work, () => ferry.close())
}

const reckoned =
  "Reckoned by the database's clock alone. Housekeeping goes by the service's where that is behind, and removes nothing while the two differ by more than a day or the service cannot be reached."

/** Shows what housekeeping would remove, and removes nothing. */
async function dryRun(cli: Cli, jobName: string, options: RunOptions): Promise<ExitCode> {
  if (jobName !== 'housekeeping') throw new UsageError('--dry-run is for housekeeping; nightferry plan is for a night')
  const { only, stream, since } = options
  if (stream !== undefined || since !== undefined) throw new UsageError('housekeeping reads no stream')
  try {
    if (only !== undefined) checkSteps(housekeeping, only)
  } catch (error) {
    refusedAsUsage(error)
  }
  return await withDatabase(cli, options, async ({ db }, config) => {
    const counted = await countHousekeeping(config, db, options.only)
    if (options.json) printJson(cli.stdout, { dry_run: true, kinds: counted })
    else {
      const rows = counted.map((one) => [
        one.kind.replaceAll('_', ' '),
        one.days === 0 ? 'for ever' : `${one.days} days`,
        one.rows,
        moment(one.oldest),
        byteWords(one.bytes),
      ])
      printLine(cli.stdout, table(['kind', 'kept', 'rows to remove', 'oldest (UTC)', 'size'], rows))
      printLine(cli.stdout, reckoned)
    }
    return exitCodes.well
  })
}

/** A job that cannot do what the command line asks for. */
function refusedAsUsage(error: unknown): never {
  throw error instanceof JobRefused ? new UsageError(error.message) : error
}

/** Opens what a run needs for a person who follows it. Anyone who set a log level gets the log itself instead. */
export async function openToFollow(cli: Cli, config: Config): Promise<Ferry> {
  return await openFerry(cli, quietConfig(config), config.log.level === 'info' ? 'follower' : 'person')
}

/** How a run ended, and what is printed of it with `--json`. */
export type RunEnded = { code: ExitCode; document: object }

/**
 * Triggers a job, follows its run and shows how it ended; then tells people, whose receivers may take their time.
 * @param show prints what `--json` prints; `text`: the report is printed for people.
 * @throws {JobRefused} when the job cannot begin, or the run of it that is under way was asked for otherwise.
 */
export async function runToEnd(
  cli: Cli,
  { deps, lost, ends }: Ferry,
  show: 'text' | ((document: object) => void),
  jobName: string = night,
  what: RunAsked = {},
): Promise<RunEnded> {
  const job = jobsOf(deps.config).find(({ name }) => name === jobName) ?? nightlySync
  await expectNews(deps, job)
  const asked = { trigger: 'cli' as const, by: actingUser(cli).user, joins: 'alike' as const, ...what }
  const { run: started, joined, olderWatermarks } = await triggerJob(deps, job.name, asked)
  ends.follow(started.run_id)
  for (const { stream, watermark } of olderWatermarks) {
    const why = `was read up to ${watermark}, before --since ${what.since ?? ''}`
    printLine(cli.stderr, readable(`${stream} ${why}: it is read from there on, as without the option.`))
  }
  if (joined) printLine(cli.stderr, `Run ${started.run_id} is under way at the step ${started.step}: going on with it.`)
  const following = { ...cli, signal: AbortSignal.any([cli.signal, lost]) }
  const ended = await followRun(following, deps.db, ends, started.run_id).catch((error: unknown) => {
    throw lost.aborted ? lost.reason : error
  })
  const result = shownEnd(cli, ended, show === 'text')
  if (show !== 'text') show(result.document)
  await tellWhereNobodyDoes(deps, job, following.signal)
  return result
}

function shownEnd(cli: Cli, ended: RunProgress, asText: boolean): RunEnded {
  const document = endDocument(ended)
  if (ended.state === 'failed') {
    cli.stderr.write(renderEnd(ended))
    return { code: exitCodes.failed, document }
  }
  if (asText) cli.stdout.write(renderEnd(ended))
  return { code: exitCodeOf((ended.report as RunReport).verdict), document }
}

function exitCodeOf(verdict: RunReport['verdict']): ExitCode {
  if (verdict === 'succeeded') return exitCodes.well
  return verdict === 'partial' ? exitCodes.partial : exitCodes.failed
}

/** Milliseconds between two looks at a run that is followed: smooth for the eye, nothing for the database. */
const followIntervalMs = 150

/** How long a run is followed without the database. */
const patienceMs = 60_000

/**
 * Shows how a run gets on, with bars on a terminal and a line per change elsewhere, until it ends or is interrupted.
 */
async function followRun(cli: Cli, db: Database, ends: RunEnds, runId: number): Promise<RunProgress> {
  const display = cli.stderr.isTTY ? bars(cli) : lines(cli)
  try {
    let lastSeen = performance.now()
    for (;;) {
      const progress = await runProgress(db, runId).catch((error: unknown) => {
        // The run goes on without us, and outlives a database that restarts; so does anyone who watches it.
        if (!isConnectionLost(error) || performance.now() - lastSeen > patienceMs) throw error
        return null
      })
      if (progress !== null) {
        lastSeen = performance.now()
        display.show(progress)
        if (progress.state !== 'running') return progress
      }
      await ends.wait(followIntervalMs, cli.signal)
    }
  } finally {
    display.end()
  }
}

type Display = { show(progress: RunProgress): void; end(): void }

function bars(cli: Cli): Display {
  const multi = new MultiBar(
    { format: '  {name} {bar} {value}/{total} {note}', hideCursor: true, stream: cli.stderr as NodeJS.WritableStream },
    Presets.shades_classic,
  )
  const known = new Map<string, SingleBar>()
  const bar = (name: string, value: number, total: number, note: string) => {
    if (total === 0) return
    const payload = { name: name.padEnd(9), note }
    const existing = known.get(name)
    if (existing === undefined) known.set(name, multi.create(total, value, payload))
    else {
      existing.setTotal(total)
      existing.update(value, payload)
    }
  }
  return {
    show: (progress) => {
      bar('read', progress.rows_read, progress.rows_read, 'rows from the partner')
      bar('sent', progress.rows_settled, progress.rows_planned, `rows in ${counted(progress.requests, 'request')}`)
      bar('loaded', progress.pages_loaded, progress.pages, `pages${failedWords(progress)}`)
    },
    end: () => multi.stop(),
  }
}

function failedWords({ pages_failed }: Pick<RunProgress, 'pages_failed'>): string {
  return pages_failed === 0 ? '' : `, ${pages_failed} failed`
}

function lines(cli: Cli): Display {
  let last = ''
  return {
    show: (progress) => {
      const parts = [
        progress.step,
        progress.rows_read > 0 && `${counted(progress.rows_read, 'row')} read`,
        progress.requests > 0 && `${progress.requests_settled} of ${counted(progress.requests, 'request')} settled`,
        progress.pages > 0 &&
          `${progress.pages_loaded} of ${counted(progress.pages, 'page')} loaded${failedWords(progress)}`,
      ]
      const line = parts.filter(Boolean).join(' · ')
      if (line !== last) printLine(cli.stderr, `  ${line}`)
      last = line
    },
    end: () => {},
  }
}
