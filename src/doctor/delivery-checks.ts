import { endedTasks } from '../db/webhooks/ended-tasks.ts'
import { eventCounts, refusalCounts } from '../db/webhooks/listed-events.ts'
import { receiverStanding } from '../db/webhooks/receiver-standing.ts'
import type { Found } from './finding.ts'
import { judgeReceiver, judgeRefusals, judgeRoundTrip } from './judge-webhooks.ts'
import { type Check, on, type Ward } from './ward.ts'

/** Tasks that ended last, and days of refusals, that are looked at. */
const [tasksLooked, refusalDays] = [200, 7]

/** What a check finds where webhooks are configured; without any, `judgeReceiver` says so. */
function whereConfigured(judge: (db: Awaited<ReturnType<Ward['own']>>['db']) => Promise<Found[]>): Check['run'] {
  return async (ward) => {
    const { webhooks } = await on(ward.config, 'configuration')
    if (webhooks.secrets.length === 0) return judgeReceiver(false, undefined)
    return await judge((await on(ward.ledger, 'database_schema')).db)
  }
}

export const webhookChecks: readonly Check[] = [
  {
    id: 'webhook_receiver',
    group: 'webhooks',
    why: 'What nobody listens for is delivered in vain, and polls alone find the end of tasks.',
    run: whereConfigured(async (db) => judgeReceiver(true, await receiverStanding(db))),
  },
  {
    id: 'webhook_round_trip',
    group: 'webhooks',
    why: 'From a request of ours to the event that tells of its end: only what arrived shows that the whole way works.',
    run: whereConfigured(async (db) => {
      const standing = await receiverStanding(db)
      const tasks = standing === undefined ? [] : await endedTasks(db, tasksLooked)
      const tests = (await eventCounts(db)).filter(({ effect }) => effect === 'test').map(({ last_at }) => last_at)
      return judgeRoundTrip(tasks, tests[0] ?? null)
    }),
  },
  {
    id: 'webhook_refusals',
    group: 'webhooks',
    why: 'What is refused here the service delivers again and again, and then marks as failed.',
    run: whereConfigured(async (db) => judgeRefusals(await refusalCounts(db, refusalDays), refusalDays)),
  },
]
