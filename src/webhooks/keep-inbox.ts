import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import { endedTasks, noteListening, receiverStanding, storeTrust } from '../db/webhooks/webhook-records.ts'
import type { Contract } from '../exchange/contract.ts'
import type { Deps, Looks } from '../pipeline/deps.ts'
import { newestTold } from '../pipeline/webhook-score.ts'
import { areWebhooksOnTime, toldTasksJudged } from '../pipeline/when-to-look.ts'
import type { RefusalCounter } from './take-delivery.ts'
import { workInbox } from './work-inbox.ts'

/** What a receiver works with. */
export type WebhookDeps = {
  config: Config['webhooks']
  contract: Contract
  looks: Looks
  logger: Logger
  tellTrouble: Deps['tellTrouble']
  /** The database's clock: deliveries are at most five minutes off it, either way. */
  now: () => Date
  readClock?: () => Promise<void>
}

/** The same with what it has made for itself. */
type InboxDeps = WebhookDeps & { db: Database; refusals: RefusalCounter }

type Inbox = {
  start(): void
  /** There is a new event. */
  wake(): void
  /** Ends what is under way, and no more. */
  close(): Promise<void>
}

/** How often events that wait for the answer to a request are looked at; many less often. Milliseconds. */
const waitingMs = 250
const perWaitingMs = 5
const longestWaitingMs = 60_000

/** How often the rest is looked after: events that a process left behind, the score, the clock. Milliseconds. */
const roundMs = 5_000

/** Events that come together are worked off in one transaction. Milliseconds. */
const gatherMs = 50

/** After the database did not answer. Milliseconds. */
const afterTroubleMs = 1_000

/** Topics that are warned of, in one process: anyone who knows the secret could send any number. */
const topicsTold = 100

/** Works events off: new ones when they come, waiting ones until their request is answered. */
export function keepInbox(deps: InboxDeps): Inbox {
  const { logger } = deps
  const stopping = new AbortController()
  let woken = new AbortController()
  let working = Promise.resolve()
  const told = new Set<string>()

  const tell = (topic: string | null, effect: string) => {
    const code = `webhook_${effect}`
    if (told.has(`${code} ${topic}`) || told.size >= topicsTold) return
    told.add(`${code} ${topic}`)
    logger.warn({ topic, code }, code)
  }
  /** @returns how many wait still. */
  const workOff = async (state: 'received' | 'waiting'): Promise<number> => {
    let waiting = 0
    for (let after = 0, more = true; more && !stopping.signal.aborted; ) {
      const worked = await workInbox(deps, state, after)
      for (const { topic, effect } of worked.events) {
        if (effect === null) waiting += 1
        else logger.debug({ topic, effect }, 'webhook_event')
        if (effect === 'unknown_topic' || effect === 'unreadable') tell(topic, effect)
      }
      more = worked.more
      after = worked.lastSeq
    }
    return waiting
  }
  const work = async (): Promise<void> => {
    const score = keepScore(deps)
    let roundAt = 0
    let waitingAt = 0
    let failing = false
    while (!stopping.signal.aborted) {
      woken = new AbortController()
      const now = performance.now()
      const inRound = now >= roundAt
      if (inRound) roundAt = now + roundMs
      let pauseMs = 0
      try {
        if (inRound) await score()
        if ((await workOff('received')) > 0) waitingAt = Math.min(waitingAt, now + waitingMs)
        if (now >= waitingAt) {
          const waiting = await workOff('waiting')
          const soon = Math.min(waitingMs + perWaitingMs * waiting, longestWaitingMs)
          // None here says nothing of what another daemon finds waiting.
          waitingAt = performance.now() + (waiting > 0 ? soon : roundMs)
        }
        failing = false
      } catch (error) {
        // Said once: a database that is down is said of elsewhere, and is tried again in a moment.
        if (!failing) logger.warn({ error: (error as Error).message }, 'webhook_events_not_worked_off')
        failing = true
        pauseMs = afterTroubleMs
      }
      if (pauseMs === 0)
        await pause(Math.min(roundAt, waitingAt) - performance.now(), AbortSignal.any([stopping.signal, woken.signal]))
      await pause(Math.max(pauseMs, gatherMs), stopping.signal)
    }
  }
  return {
    start: () => {
      working = work()
    },
    wake: () => {
      // Without a reason of its own each call would make an error with its stack.
      if (!woken.signal.aborted) woken.abort('woken')
    },
    close: async () => {
      stopping.abort()
      await working
      await deps.refusals.flush(deps.db).catch(() => {})
    },
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await delay(ms, undefined, { signal }).catch(() => {})
}

/** More tasks than are judged: the newest may yet be told of on time. */
const tasksRead = 10 * toldTasksJudged

/**
 * What a receiver does every few seconds: says that it listens, counts what it refused, and decides whether webhooks
 * are on time, so that polls may come less often.
 */
function keepScore({ db, config, logger, refusals, readClock }: InboxDeps): () => Promise<void> {
  return async () => {
    await readClock?.()
    await noteListening(db)
    const refused = await refusals.flush(db)
    if (Object.keys(refused).length > 0) logger.warn({ refused }, 'webhooks_refused')
    const told = newestTold(await endedTasks(db, tasksRead, config.keepDays))
    const onTime = areWebhooksOnTime(told)
    if ((await receiverStanding(db))?.trusted !== onTime) {
      await storeTrust(db, onTime)
      logger.info(told, onTime ? 'webhooks_on_time' : 'webhooks_not_on_time')
    }
  }
}
