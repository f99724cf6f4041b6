import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { carryingJobs } from '../../config/known-names.ts'
import { requireToServe } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { mayPass } from '../../db/database-trouble.ts'
import { retireSchedules } from '../../db/runs/job-requests.ts'
import { runningRuns } from '../../db/runs/run-life.ts'
import type { HttpServer } from '../../http/start-http.ts'
import { startRequests } from '../../jobs/answer-requests.ts'
import { dueOccurrence } from '../../jobs/due-occurrence.ts'
import { jobsOf, scheduleOf } from '../../jobs/known-jobs.ts'
import { startScheduler } from '../../jobs/scheduler.ts'
import { expectNews, startNotices } from '../../jobs/tell-news.ts'
import { resumeInterrupted } from '../../jobs/trigger-run.ts'
import { startKeyWatch } from '../../jobs/watch-key.ts'
import { isFile } from '../../partner/partner-snapshot.ts'
import { refuseOthersDatabase } from '../../pipeline/destination/refuse-others-database.ts'
import { needsGroup } from '../../pipeline/streams/our-streams.ts'
import { areWebhooksConfigured, checkWebhookSettings } from '../../webhooks/check-webhook-settings.ts'
import { startWebhooks } from '../../webhooks/start-webhooks.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, ownVersion, untilInterrupted } from '../cli.ts'
import { type Ferry, openReadyFerry } from '../open-ferry.ts'
import { readConfig, readContract } from '../read-config.ts'
import { reloadConfig } from '../reload.ts'
import { concealJson } from '../scrubbing.ts'
import { thenClose } from '../whole-process.ts'
import { consoleAsks } from './console.ts'

/** What works beside the looks, until the daemon ends. */
type Companion = { stop: () => Promise<unknown> }

/** `nightferry serve`: the long-lived service. Starts what the schedules ask for until it is told to end. */
export async function serve(cli: Cli, options: CommonOptions): Promise<ExitCode> {
  // From the first moment: a SIGHUP to which nobody listens ends the verb.
  const hangUps = new HangUps(cli)
  const config = readConfig(cli, options)
  // Loaded where it is wanted: the web server and what it needs take a while.
  const api = config.http.port === null ? null : await import('../../http/start-http.ts')
  api?.checkHttpSettings(config)
  checkWebhookSettings(config.webhooks, readContract(cli, config))
  requireToServe(config, needsGroup(readContract(cli, config), config.streams))
  const ferry = await openReadyFerry(cli, config, 'daemon')
  const { deps, gate, logger } = ferry
  const watch = startKeyWatch(
    { refusal: () => gate.refusal(), probe: () => deps.exchange.getUnitTypes(), logger },
    config.exchange.probeIntervalMs,
  )
  const manager = openServiceManager(cli, logger, { look: () => standing(ferry), stillMs: stillMs(ferry) })
  const started: Companion[] = []
  const work = async (): Promise<ExitCode> => {
    await refuseOthersDatabase(deps)
    // Before a run begins whose tasks they tell of.
    if (areWebhooksConfigured(config.webhooks)) {
      const webhooks = await startWebhooks({ ...deps, config: config.webhooks }, ferry.database.url)
      started.push({ stop: () => webhooks.close() })
    }
    const jobs = await startJobs(ferry, started)
    started.push(startRequests(deps, jobs))
    let http: HttpServer | null = null
    if (api !== null) {
      const served = await api.startHttp(
        deps,
        ferry.database.url,
        ownVersion(),
        (text) => concealJson(ferry.secrets)(text),
        await consoleAsks(cli, options, deps.config),
      )
      http = served
      started.push({ stop: () => served.close() })
      logger.info({ url: served.url }, 'http_started')
    }
    logger.info({ ...config.jobs }, 'service_started')
    if (!isAnythingCarried(config)) {
      logger.warn({ setting: `jobs.${carryingJobs(config)[0]}.schedule` }, 'no_schedule_no_data_carried')
    }
    await manager.ready()
    // A run that was resumed may begin with a statement that stops all else, which the manager knows of only now.
    await ferry.work()
    const served = api === null || http === null ? null : { ...http, check: api.checkHttpSettings }
    hangUps.answer(() => void manager.reload(() => reload(cli, options, ferry, served)))
    await untilInterrupted({ ...cli, signal: AbortSignal.any([cli.signal, ferry.lost]) })
    logger.info('service_stopping')
    void manager.stopping()
    if (ferry.lost.aborted) throw ferry.lost.reason
    return exitCodes.well
  }
  return await thenClose(cli, work, async () => {
    watch.stop()
    await Promise.all(started.map((one) => one.stop()))
    await ferry.close()
  })
}

/** Goes on with what was interrupted, and starts what falls due, of every job. @returns the jobs. */
async function startJobs({ deps }: Ferry, started: Companion[]): Promise<readonly string[]> {
  const jobs = jobsOf(deps.config)
  for (const job of jobs) await expectNews(deps, job)
  for (const name of await resumeInterrupted(deps, jobs)) {
    await expectNews(deps, { name })
    started.push(startNotices(deps, { name }))
  }
  await retireSchedules(
    deps.db,
    jobs.map(({ name }) => name),
  )
  for (const job of jobs) started.push(startScheduler(deps, job, deps.now()), startNotices(deps, job))
  return jobs.map(({ name }) => name)
}

/** Whether data are carried by a schedule: housekeeping alone, as init writes it, carries none. */
function isAnythingCarried(config: Config): boolean {
  return carryingJobs(config).some((name) => scheduleOf(config, name).schedule !== null)
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

/**
 * SIGHUP: the configuration as it is now, with the same options and environment as at the start, and the certificate of
 * the HTTP API.
 */
function reload(
  cli: Cli,
  options: CommonOptions,
  ferry: Ferry,
  http: (Pick<HttpServer, 'readCertificateAgain'> & { check: (config: Config) => void }) | null,
): void {
  const { deps } = ferry
  let showCertificate = () => {}
  const used = reloadConfig(ferry, () => {
    const next = readConfig(cli, options)
    const contract = readContract(cli, next)
    requireToServe(next, needsGroup(contract, next.streams))
    checkWebhookSettings(next.webhooks, contract)
    http?.check(next)
    for (const { name } of jobsOf(next)) dueOccurrence(name, scheduleOf(next, name), deps.now())
    if (http !== null) showCertificate = http.readCertificateAgain()
    return next
  })
  if (!used) return
  showCertificate()
  // If people are told from now on, the next run is the first whose end they hear of.
  for (const job of jobsOf(deps.config)) void expectNews(deps, job).catch(() => {})
}

/** How we get on, in a sentence for the service manager. Asks the database. */
async function standing({ deps }: Ferry): Promise<string> {
  const [run] = await runningRuns(deps.db)
  if (run !== undefined) return `Run ${run.run_id} of ${run.job} is at the step ${run.step}`
  return isAnythingCarried(deps.config)
    ? 'Idle; the next run waits for its time'
    : 'Idle; no job that carries data has a schedule'
}

/** How long a statement may keep this process from all else, in milliseconds; 0: none does. */
function stillMs({ deps: { config, required } }: Ferry): number {
  if (required.partnerUrl === null || !isFile({ url: required.partnerUrl })) return 0
  return config.partner.statementTimeoutMs === 0 ? Infinity : config.partner.statementTimeoutMs
}

/** What people read who ask the service manager while the database is away. */
const lookFailed = 'The database answered with an error, or not at all; the log says more'

/** The program that carries our messages: Node.js has no datagram sockets of the file system. */
const program = 'systemd-notify'

/** Finds the program where a unit that sets no PATH would find it too. */
const usualPath = '/usr/local/bin:/usr/bin:/bin'

/** How often people who ask the service manager are told again how we get on. Milliseconds. */
const statusEveryMs = 15_000

type ServiceManager = {
  /** Says that we are up, and from then on how we get on, as `look` tells it in a sentence. */
  ready(): Promise<void>
  /** Says that the configuration is read again, and that it was. */
  reload(work: () => void): Promise<void>
  stopping(): Promise<void>
}

/**
 * Speaks to the service manager that started us, as sd_notify(3) describes it: by the socket that NOTIFY_SOCKET names.
 * Where nobody listens, each call does nothing. What cannot be told is logged once; the work goes on.
 *
 * The watchdog is told that we are alive after each look, and never while one is under way: if the event loop or the
 * database hangs, the looks stop, and the manager starts us again. So it does where the database refuses who we are:
 * the next process reads the address again. A database that is away is another matter: it is waited for, and a start
 * would forget what this process saw fall due.
 *
 * @param look asks the database how we get on.
 * @param stillMs for how long we may do nothing by intent, beside what the manager allows.
 */
function openServiceManager(
  { environment, signal }: Pick<Cli, 'environment' | 'signal'>,
  logger: Pick<Logger, 'warn'>,
  { look, stillMs }: { look: () => Promise<string>; stillMs: number },
): ServiceManager {
  const socket = environment.NOTIFY_SOCKET
  if (socket === undefined || socket === '') {
    return { ready: async () => {}, reload: async (work) => work(), stopping: async () => {} }
  }
  let warned = false
  const tell = async (...states: string[]): Promise<void> => {
    const env = { PATH: environment.PATH ?? usualPath, NOTIFY_SOCKET: socket }
    // Node.js throws some refusals of the system, and emits others.
    const refused = await notify(env, states).catch((error: Error) => error.message)
    if (refused !== null && !warned) logger.warn({ program, error: refused }, 'service_manager_not_told')
    warned ||= refused !== null
  }
  const watchdog = watchdogMs(environment, process.pid)
  const patience = watchdog === null || stillMs === 0 ? [] : [`WATCHDOG_USEC=${usec(watchdog + stillMs)}`]
  const watch = async (): Promise<void> => {
    const everyMs = Math.min(statusEveryMs, (watchdog ?? Infinity) / 2)
    let told = ''
    while (!signal.aborted) {
      const status = await look().catch((error: unknown) => (mayPass(error) ? lookFailed : null))
      if (signal.aborted) return
      const news = [
        ...(watchdog !== null && status !== null ? ['WATCHDOG=1'] : []),
        ...(status !== null && status !== told ? [`STATUS=${status}`] : []),
      ]
      if (news.length > 0) await tell(...news)
      told = status ?? told
      await delay(everyMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }
  return {
    ready: async () => {
      await tell('READY=1', ...patience)
      void watch()
    },
    reload: async (work) => {
      await tell('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`)
      work()
      await tell('READY=1')
    },
    stopping: () => tell('STOPPING=1', 'STATUS=Stopping: the work at hand ends'),
  }
}

/**
 * Within how many milliseconds the manager wants to hear of us, again and again; null: it does not. What it wants to
 * hear of another process does not concern us.
 */
function watchdogMs(environment: Cli['environment'], pid: number): number | null {
  const { WATCHDOG_USEC: limit = '', WATCHDOG_PID: meant } = environment
  if (!/^[1-9]\d*$/.test(limit)) return null
  if (meant !== undefined && meant !== String(pid)) return null
  return Number(limit) / 1_000
}

/** Pure. As the manager takes it: a whole number, and for ever is some centuries. */
function usec(ms: number): number {
  return Math.min(Math.ceil(ms * 1_000), Number.MAX_SAFE_INTEGER)
}

/** @returns what went wrong, or null. */
function notify(env: Record<string, string>, states: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(program, states, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8')
    })
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code) => resolve(code === 0 ? null : said.trim() || `it ended with ${code}`))
  })
}
