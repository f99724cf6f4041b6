import type { EndedTask } from '../db/webhooks/webhook-records.ts'
import { type ToldTasks, toldLateAfterMs, toldTasksJudged } from './when-to-look.ts'

/** How webhooks do, by the tasks that ended: when an event came against when a look found the end. */
export type WebhookScore = ToldTasks & {
  /** Ended a moment ago: the event may yet be on time. */
  open: number
  /** Told of before any poll found the end, so that the event brought the look. */
  first: number
  /** How long after the end was found events came, in milliseconds; below 0: before. Null without any. */
  lagMs: { median: number; p95: number } | null
  /** The tasks whose end nobody told, the newest first. */
  lostTasks: EndedTask[]
}

type ToldAs = 'onTime' | 'late' | 'lost' | 'open'

function toldAs({ terminal_at, told_at, since_ms }: EndedTask): ToldAs {
  if (told_at !== null) return lagOf(told_at, terminal_at) > toldLateAfterMs ? 'late' : 'onTime'
  return since_ms > toldLateAfterMs ? 'lost' : 'open'
}

function lagOf(toldAt: Date, terminalAt: Date): number {
  return toldAt.getTime() - terminalAt.getTime()
}

/** Counts how tasks were told of. Pure. */
export function scoreOf(tasks: readonly EndedTask[]): WebhookScore {
  const by = Map.groupBy(tasks, toldAs)
  const count = (as: ToldAs) => by.get(as)?.length ?? 0
  const lags = tasks
    .flatMap(({ told_at, terminal_at }) => (told_at === null ? [] : [lagOf(told_at, terminal_at)]))
    .toSorted((a, b) => a - b)
  const at = (share: number) => lags[Math.min(lags.length - 1, Math.floor(lags.length * share))] ?? 0
  return {
    onTime: count('onTime'),
    late: count('late'),
    lost: count('lost'),
    open: count('open'),
    first: lags.filter((lag) => lag < 0).length,
    lagMs: lags.length === 0 ? null : { median: at(0.5), p95: at(0.95) },
    lostTasks: by.get('lost') ?? [],
  }
}

/**
 * The newest of these that say something of webhooks by now, as many as are judged. Pure.
 * @param tasks the newest first.
 */
export function newestTold(tasks: readonly EndedTask[]): ToldTasks {
  return scoreOf(tasks.filter((task) => toldAs(task) !== 'open').slice(0, toldTasksJudged))
}

/**
 * What to warn of: tasks ended, and no event told of any. Null if nothing is wrong, or too little is known. Pure.
 * @param listening whether a receiver was heard of a moment ago.
 */
export function silenceWords(tasks: readonly EndedTask[], listening: boolean): string | null {
  const { onTime, late, lost } = scoreOf(tasks)
  const doubt = 'Look at its delivery log in the web application of the service, and at nightferry webhooks here'
  if (!listening) return 'Webhooks are configured, but nothing listens for them: nightferry serve does'
  if (lost === 0 || onTime + late > 0) return null
  return `Webhooks are configured, but none told of the ${lost === 1 ? 'task' : `${lost} tasks`} that ended since the receiver listens. ${doubt}`
}
