import { setTimeout as delay } from 'node:timers/promises'
import { runningRuns } from '../db/runs/start-run.ts'
import type { Deps } from '../pipeline/deps.ts'
import { lookAtEverything } from './trigger-run.ts'

/** How often the database's clock is compared with one that nobody sets. Milliseconds. */
const watchMs = 30_000

/** How long a stop waits for a look that is under way, which may wait for a lock. Milliseconds. */
const lingerMs = 1_000

/** A clock that is this much behind where it should be was set back; readings differ by less. Milliseconds. */
const setBackMs = 2_000

/**
 * Notices that the database's clock was set back. What was put off to a moment of the old clock would wait for as long
 * as it was set back, so every look that a run may be waiting for is asked for again; one too many harms nothing.
 */
export function startClockWatch(deps: Deps): { look: () => Promise<void>; stop: () => Promise<void> } {
  const ahead = () => deps.now().getTime() - performance.now()
  let known = ahead()
  const look = async (): Promise<void> => {
    await deps.readClock?.()
    const by = known - ahead()
    if (by < setBackMs) {
      known -= by
      return
    }
    deps.logger.warn({ by_ms: Math.round(by) }, 'database_clock_set_back')
    for (const run of await runningRuns(deps.db)) {
      await deps.db.transaction().execute((trx) => lookAtEverything(deps, trx, run))
    }
    known -= by
  }
  let looking = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(look).catch((error: Error) => {
      deps.logger.warn({ error: error.message }, 'clock_watch_failed')
    })
  }, watchMs)
  timer.unref()
  return {
    look,
    stop: async () => {
      clearInterval(timer)
      await Promise.race([looking, delay(lingerMs, undefined, { ref: false })])
    },
  }
}
