import { runningRun } from '../../db/runs/start-run.ts'
import { nightlySync } from '../../jobs/nightly-sync.ts'
import { startScheduler } from '../../jobs/scheduler.ts'
import { expectNews, startNotices } from '../../jobs/tell-news.ts'
import { triggerRun } from '../../jobs/trigger-run.ts'
import { startKeyWatch } from '../../jobs/watch-key.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, untilInterrupted } from '../cli.ts'
import { openFerry } from '../open-ferry.ts'
import { readConfig } from '../read-config.ts'

/** `nightferry serve`: the long-lived service. Starts what the schedule asks for until it is told to end. */
export async function serve(cli: Cli, options: CommonOptions): Promise<ExitCode> {
  const config = readConfig(cli, options)
  const ferry = await openFerry(cli, config, 'daemon')
  const { gate, logger } = ferry
  const watch = startKeyWatch(
    { refusal: () => gate.refusal(), probe: () => ferry.deps.exchange.getUnitTypes(), logger },
    config.exchange.probeIntervalMs,
  )
  let notices: ReturnType<typeof startNotices> | null = null
  try {
    await expectNews(ferry.deps, nightlySync)
    const interrupted = await runningRun(ferry.deps.db, nightlySync.name)
    if (interrupted !== undefined) {
      await triggerRun(ferry.deps, nightlySync, interrupted.trigger, interrupted.scheduled_for)
    }
    const scheduler = startScheduler(ferry.deps, nightlySync, ferry.deps.now())
    notices = startNotices(ferry.deps, nightlySync)
    ferry.logger.info({ ...config.jobs }, 'service_started')
    if (config.jobs[nightlySync.name].schedule === null) {
      ferry.logger.warn(
        { job: nightlySync.name, setting: `jobs.${nightlySync.name}.schedule` },
        'no_schedule_nothing_will_start',
      )
    }
    await untilInterrupted({ ...cli, signal: AbortSignal.any([cli.signal, ferry.lost]) })
    ferry.logger.info('service_stopping')
    await scheduler.stop()
    if (ferry.lost.aborted) throw ferry.lost.reason
    return exitCodes.well
  } finally {
    watch.stop()
    await notices?.stop()
    await ferry.close()
  }
}
