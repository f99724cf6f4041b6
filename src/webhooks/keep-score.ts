import { endedTasks } from '../db/webhooks/ended-tasks.ts'
import { noteListening, receiverStanding, storeTrust } from '../db/webhooks/receiver-standing.ts'
import { newestTold } from '../pipeline/webhook-score.ts'
import { areWebhooksOnTime, toldTasksJudged } from '../pipeline/when-to-look.ts'
import { forgetEvents } from './forget-events.ts'
import type { InboxDeps } from './webhook-deps.ts'

/** More tasks than are judged: the newest may yet be told of on time. */
const tasksRead = 10 * toldTasksJudged

/** How often old events are removed. Milliseconds. */
const forgetEveryMs = 3_600_000

/**
 * What a receiver does every few seconds: says that it listens, counts what it refused, decides whether webhooks are on
 * time, so that polls may come less often, and forgets what is old.
 */
export function keepScore({ db, config, logger, refusals, readClock }: InboxDeps): () => Promise<void> {
  let forgottenAt = -Infinity
  return async () => {
    await readClock?.()
    await noteListening(db)
    const refused = await refusals.flush(db)
    if (Object.keys(refused).length > 0) logger.warn({ refused }, 'webhooks_refused')
    const told = newestTold(await endedTasks(db, tasksRead))
    const onTime = areWebhooksOnTime(told)
    if ((await receiverStanding(db))?.trusted !== onTime) {
      await storeTrust(db, onTime)
      logger.info(told, onTime ? 'webhooks_on_time' : 'webhooks_not_on_time')
    }
    if (performance.now() - forgottenAt < forgetEveryMs) return
    const removed = await forgetEvents(db, { tasks: config.keepDays, applications: config.keepApplicationDays })
    if (removed > 0) logger.info({ removed }, 'webhook_events_removed')
    forgottenAt = performance.now()
  }
}
