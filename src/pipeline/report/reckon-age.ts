import type { Config } from '../../config/schema.ts'
import type { OldKind } from '../../db/housekeeping/old-kinds.ts'
import { countOld } from '../../db/housekeeping/remove-old.ts'
import type { Deps } from '../deps.ts'
import { minuteOf } from './report-words.ts'

const dayMs = 86_400_000

type Clocks = Pick<Deps, 'exchange' | 'now'>

/**
 * The moment from which it is reckoned how old something is that cannot be brought back: the earlier of the database's
 * clock and the service's, because a clock may be ahead for minutes. A service that answers and shows no clock leaves
 * the database's alone. Null where the service was not reached, or where the two differ by more than a day: then
 * nothing may be removed.
 */
export function agedBy({ exchange, now }: Clocks): Date | null {
  const service = exchange.serviceTime()
  const ours = now()
  if (service === null) return exchange.showsNoClock() ? ours : null
  if (Math.abs(service.getTime() - ours.getTime()) > dayMs) return null
  return service < ours ? service : ours
}

/** The same; the service is asked what time it is where that is not known, or cannot be true. */
export async function askAgedBy(deps: Clocks & Pick<Deps, 'readClock'>): Promise<Date | null> {
  const known = agedBy(deps)
  if (known !== null && !deps.exchange.showsNoClock()) return known
  // A refusal has a date as well, and without an answer there is none to go by. One answer may lack what others have.
  await deps.exchange.getUnitTypes().catch(() => {})
  await deps.readClock?.()
  return agedBy(deps)
}

/** For how many days each kind is kept; 0: for ever. Pure. */
export function keptDays({ housekeeping, pull, push, webhooks }: Config): Record<OldKind, number> {
  return {
    payloads: push.keepPayloadsDays,
    value_changes: pull.keepHistoryDays,
    removed_values: pull.keepRemovedDays,
    past_contents: housekeeping.keepContentsDays,
    quarantine: housekeeping.keepQuarantineDays,
    reports: housekeeping.keepReportsDays,
    submission_rows: housekeeping.keepRunsDays,
    submissions: housekeeping.keepRunsDays,
    runs: housekeeping.keepRunsDays,
    webhook_events: webhooks.keepDays,
    application_events: webhooks.keepApplicationDays,
    queue: housekeeping.keepQueueDays,
    notifications: housekeeping.keepNotificationsDays,
    job_requests: housekeeping.keepRequestsDays,
  }
}

/** The moment so many days before another. Pure. */
export function daysBefore(days: number, at: Date): Date {
  return new Date(at.getTime() - days * dayMs)
}

/**
 * What a run says that has removed nothing because `agedBy` is null: what was to go by the database's clock, and why
 * it stays. Nothing where nothing was to go.
 * @param kinds with the days for which each is kept; 0: for ever.
 */
export async function keptRemarks(
  { db, exchange, now }: Clocks & Pick<Deps, 'db'>,
  kinds: readonly (readonly [OldKind, number])[],
): Promise<string[]> {
  const ours = now()
  const kept: string[] = []
  for (const [kind, days] of kinds) {
    if (days === 0) continue
    const { rows } = await countOld(db, kind, daysBefore(days, ours))
    if (rows > 0) kept.push(`${rows} ${kind}`)
  }
  return kept.length === 0 ? [] : [keptWords(kept.join(', '), ours, exchange.serviceTime())]
}

function keptWords(kept: string, ours: Date, service: Date | null): string {
  return service === null
    ? `Nothing old was removed, because the service was not reached and its clock is not known: by the database's alone, ${kept} were to go. The first run that reaches the service removes them.`
    : `Nothing old was removed, because the clocks of the database and the service differ by more than a day: they show ${minuteOf(ours)} and ${minuteOf(service)} UTC, and by the database's ${kept} were to go. Set the wrong clock right; the next run removes what is old by then.`
}
