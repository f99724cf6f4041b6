import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { runningRuns } from '../db/runs/run-life.ts'
import type { Deps } from '../pipeline/deps.ts'
import { lookAtEverything } from './trigger-run.ts'

/** How often the database's clock is compared with one that nobody sets. Milliseconds. */
const watchMs = 30_000

/**
 * How long a stop waits for a look that is under way, so that what it has done is stored. A statement that does
 * not end, such as one that waits for a lock, ends with its connection. Milliseconds.
 */
export const lingerMs = 1_000

/** A clock that is this much behind where it should be was set back; readings differ by less. Milliseconds. */
const setBackMs = 2_000

/**
 * Notices that the database's clock was set back. What was put off to a moment of the old clock would wait for as long
 * as it was set back, so every look that a run may be waiting for is asked for again; one too many harms nothing.
 * The queue is looked after again whether or not this process noticed: the clock may have been ahead for seconds, or
 * before it began.
 */
export function startClockWatch(deps: Deps): { look: () => Promise<void>; stop: () => Promise<void> } {
  const ahead = () => deps.now().getTime() - performance.now()
  let known = ahead()
  const look = async (): Promise<void> => {
    await deps.readClock?.()
    await forgetPassesAhead(deps)
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
    looking = looking.then(look).catch((error: Error) => deps.tellTrouble('clock_watch_failed', error))
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

/** Until the moment of the newest pass no process makes another: nobody would notice a worker that died. */
async function forgetPassesAhead({ db, logger }: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  const { rows } = await sql<{ queue: string }>`
    update nightferry_queue.queue set monitor_claim_on = null, monitor_on = null, maintain_on = null
    where greatest(monitor_claim_on, monitor_on, maintain_on) > clock_timestamp()
    returning name as queue`.execute(db)
  if (rows.length > 0) logger.warn({ queues: rows.map(({ queue }) => queue) }, 'queue_passes_ahead')
}
