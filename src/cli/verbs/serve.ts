import { requireSettings } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { runningRun, runningRuns } from '../../db/runs/start-run.ts'
import { dueOccurrence } from '../../jobs/due-occurrence.ts'
import { jobsOf, scheduleOf } from '../../jobs/known-jobs.ts'
import { startScheduler } from '../../jobs/scheduler.ts'
import { expectNews, startNotices } from '../../jobs/tell-news.ts'
import { triggerRun } from '../../jobs/trigger-run.ts'
import { startKeyWatch } from '../../jobs/watch-key.ts'
import { startRequests } from '../../jobs/watch-requests.ts'
import { needsGroup } from '../../pipeline/push/check-kinds.ts'
import { areWebhooksConfigured, checkWebhookSettings } from '../../webhooks/check-webhook-settings.ts'
import { startWebhooks } from '../../webhooks/start-webhooks.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, ownVersion, untilInterrupted } from '../cli.ts'
import { type Ferry, openFerry } from '../open-ferry.ts'
import { consoleAsks } from '../own-console.ts'
import { readConfig, readContract } from '../read-config.ts'
import { reloadConfig } from '../reload.ts'
import { conceal } from '../scrubbing.ts'
import { openServiceManager } from '../service-manager.ts'

/** What works beside the looks, until the daemon ends. */
type Companion = { stop: () => Promise<unknown> }

/** `nightferry serve`: the long-lived service. Starts what the schedules ask for until it is told to end. */
export async function serve(cli: Cli, options: CommonOptions): Promise<ExitCode> {
  // From the first moment: a SIGHUP to which nobody listens ends a process.
  const hangUps = new HangUps(cli)
  const config = readConfig(cli, options)
  // Loaded where it is wanted: the web server and what it needs take a while.
  const api = config.http.port === null ? null : await import('../../http/start-http.ts')
  api?.checkHttpSettings(config)
  checkWebhookSettings(config.webhooks, readContract(cli, config))
  const ferry = await openFerry(cli, config, 'daemon')
  const { deps, gate, logger } = ferry
  const watch = startKeyWatch(
    { refusal: () => gate.refusal(), probe: () => deps.exchange.getUnitTypes(), logger },
    config.exchange.probeIntervalMs,
  )
  const manager = openServiceManager(cli, logger, () => standing(ferry))
  const started: Companion[] = []
  try {
    // Before a run begins whose tasks they tell of.
    if (areWebhooksConfigured(config.webhooks)) {
      const webhooks = await startWebhooks({ ...deps, config: config.webhooks }, ferry.database.url)
      started.push({ stop: () => webhooks.close() })
    }
    await startJobs(ferry, started)
    started.push(startRequests(deps))
    if (api !== null) {
      const http = await api.startHttp(
        deps,
        ferry.database.url,
        ownVersion(),
        (text) => conceal(ferry.secrets)(text),
        consoleAsks(cli, options, deps.config),
      )
      started.push({ stop: () => http.close() })
      logger.info({ url: http.url }, 'http_started')
    }
    logger.info({ ...config.jobs }, 'service_started')
    if (!isAnythingScheduled(config)) {
      logger.warn({ setting: 'jobs.nightly-sync.schedule' }, 'no_schedule_nothing_will_start')
    }
    await manager.ready()
    hangUps.answer(() => void manager.reload(() => reload(cli, options, ferry)))
    await untilInterrupted({ ...cli, signal: AbortSignal.any([cli.signal, ferry.lost]) })
    logger.info('service_stopping')
    void manager.stopping()
    if (ferry.lost.aborted) throw ferry.lost.reason
    return exitCodes.well
  } finally {
    watch.stop()
    await Promise.all(started.map((one) => one.stop()))
    await ferry.close()
  }
}

/** Goes on with what was interrupted, and starts what falls due, of every job. */
async function startJobs({ deps }: Ferry, started: Companion[]): Promise<void> {
  const jobs = jobsOf(deps.config)
  for (const job of jobs) {
    await expectNews(deps, job)
    const interrupted = await runningRun(deps.db, job.name)
    if (interrupted !== undefined) await triggerRun(deps, job, interrupted.trigger, interrupted.scheduled_for)
  }
  for (const job of jobs) started.push(startScheduler(deps, job, deps.now()), startNotices(deps, job))
}

function isAnythingScheduled(config: Config): boolean {
  return jobsOf(config).some(({ name }) => scheduleOf(config, name).schedule !== null)
}

/** What is done at each SIGHUP; one that came too early is answered late. */
class HangUps {
  #asked = false
  #answer: (() => void) | null = null

  constructor(cli: Cli) {
    cli.onHangUp?.(() => {
      this.#asked = true
      this.#answer?.()
    })
  }

  answer(work: () => void): void {
    this.#answer = work
    if (this.#asked) work()
  }
}

/** SIGHUP: the configuration as it is now, with the same options and environment as at the start. */
function reload(cli: Cli, options: CommonOptions, ferry: Ferry): void {
  const { deps } = ferry
  const used = reloadConfig(ferry, () => {
    const next = readConfig(cli, options)
    const contract = readContract(cli, next)
    requireSettings(next, needsGroup(contract, next.streams))
    checkWebhookSettings(next.webhooks, contract)
    for (const { name } of jobsOf(next)) dueOccurrence(name, scheduleOf(next, name), deps.now())
    return next
  })
  if (!used) return
  // If people are told from now on, the next run is the first whose end they hear of.
  for (const job of jobsOf(deps.config)) void expectNews(deps, job).catch(() => {})
}

/** How we get on, in a sentence for the service manager. Asks the database. */
async function standing({ deps }: Ferry): Promise<string> {
  const [run] = await runningRuns(deps.db)
  if (run !== undefined) return `Run ${run.run_id} of ${run.job} is at the step ${run.step}`
  return isAnythingScheduled(deps.config) ? 'Idle; the next run waits for its time' : 'Idle; there is no schedule'
}
