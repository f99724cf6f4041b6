import type { Config } from '../config/schema.ts'
import {
  type EndedTask,
  endedTasks,
  eventCounts,
  receiverStanding,
  refusalCounts,
} from '../db/webhooks/webhook-records.ts'
import { minuteOf } from '../pipeline/report/report-words.ts'
import { newestTold, scoreOf } from '../pipeline/webhook-score.ts'
import { advice, type Check, type Found, ok, on, type Ward, warning } from './ward.ts'

const deliveryLog = 'look at the delivery log in the web application of the service, and at nightferry webhooks'

/** @param standing undefined: none ever listened. Pure. */
export function judgeReceiver(
  configured: boolean,
  standing: { since: Date; heard_at: Date; listening: boolean } | undefined,
): Found[] {
  if (!configured) return [ok('No webhook is configured: polls find the end of every task')]
  if (standing?.listening) return [ok(`A receiver listens since ${minuteOf(standing.since)} UTC`)]
  const last = standing === undefined ? 'none ever did' : `the last was heard of ${minuteOf(standing.heard_at)} UTC`
  return [warning(`Webhooks are configured, and no receiver listens: ${last}`, 'nightferry serve (docs/webhooks.md)')]
}

/**
 * How the tasks that ended lately were told of.
 * @param tasks the newest first. @param testedAt when the Test button of the web application was last heard of. Pure.
 */
export function judgeRoundTrip(tasks: readonly EndedTask[], testedAt: Date | null): Found[] {
  const { onTime, late, lost } = newestTold(tasks)
  const all = onTime + late + lost
  const tested = testedAt === null ? null : `The test of ${minuteOf(testedAt)} UTC arrived`
  if (all === 0) {
    if (tested !== null) return [ok(`${tested}; no task says anything yet`)]
    return [
      advice(
        'No task of the last days ended while a receiver listened, so nothing shows that webhooks arrive',
        'press Test in the web application of the service; nightferry webhooks then shows an event with the effect test',
      ),
    ]
  }
  const counted = `Of the ${all} newest tasks that ended, ${onTime} were told of on time, ${late} late and ${lost} not at all`
  if (onTime + late === 0) return [warning(tested === null ? counted : `${counted}. ${tested}`, deliveryLog)]
  if (late + lost > 0 && onTime < all - 1) return [warning(counted, deliveryLog)]
  const { lagMs } = scoreOf(tasks)
  return [ok(lagMs === null ? counted : `${counted}; 95 of 100 within ${seconds(lagMs.p95)} of their end`)]
}

/** Reasons that say that the service itself is refused, and not that strangers knock. */
const ofTheService: Readonly<Record<string, string>> = {
  signature_mismatch: 'compare the secrets by their fingerprints (nightferry webhooks; docs/webhooks.md)',
  custom_header_wrong: 'compare webhooks.headerName and its value with what the webhook has at the service',
  timestamp_too_old: "look at the clock of Nightferry's database",
  timestamp_too_new: "look at the clock of Nightferry's database",
  not_stored: "look at the log of nightferry serve, and at Nightferry's own database",
}

/** @param refused by reason, in so many days. Pure. */
export function judgeRefusals(refused: readonly { reason: string; refused: number }[], days: number): Found[] {
  if (refused.length === 0) return [ok(`No delivery was refused in ${days} days`)]
  return refused.map(({ reason, refused: count }) => {
    const what = `${count === 1 ? 'One delivery was' : `${count} deliveries were`} not taken in ${days} days: ${reason}`
    const todo = ofTheService[reason]
    return todo === undefined
      ? advice(what, 'nothing, if strangers knock; else docs/webhooks.md says what it is', reason)
      : warning(what, todo, reason)
  })
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.round(ms / 100) / 10)} s`
}

/** Tasks that ended last, and days of refusals, that are looked at. */
const [tasksLooked, refusalDays] = [200, 7]

/** What a check finds where webhooks are configured; without any, `judgeReceiver` says so. */
function whereConfigured(
  judge: (db: Awaited<ReturnType<Ward['own']>>['db'], webhooks: Config['webhooks']) => Promise<Found[]>,
): Check['run'] {
  return async (ward) => {
    const { webhooks } = await on(ward.config, 'configuration')
    if (webhooks.secrets.length === 0) return judgeReceiver(false, undefined)
    return await judge((await on(ward.ledger, 'database_schema')).db, webhooks)
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
    run: whereConfigured(async (db, { keepDays }) => {
      const standing = await receiverStanding(db)
      const tasks = standing === undefined ? [] : await endedTasks(db, tasksLooked, keepDays)
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
