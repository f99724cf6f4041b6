import type { Config } from '../config/schema.ts'
import { type Database, openDatabaseClock } from '../db/database.ts'
import { noneOld, type OldCount, type OldKind, oldKinds } from '../db/housekeeping/old-kinds.ts'
import { countOld, removeSome } from '../db/housekeeping/remove-old.ts'
import { finishRun } from '../db/runs/run-life.ts'
import type { Run } from '../db/tables/run-tables.ts'
import type { Deps } from '../pipeline/deps.ts'
import { agedBy, askAgedBy, daysBefore, keptDays, keptRemarks } from '../pipeline/report/reckon-age.ts'
import { emptyReport, logFinished } from '../pipeline/report/report.ts'
import type { Job, StepResult } from './job.ts'

/** How long one look works before it lets others have their turn. Milliseconds. */
const turnMs = 5_000

/**
 * What is kept for how many days, 0 for ever, in the order in which it is removed. Pure.
 * @param only these kinds, or `remove` for all, as a run was asked for.
 */
function retention(config: Config, only?: readonly string[]): [OldKind, number][] {
  const kinds = keptDays(config)
  const asked =
    only === undefined || only.includes('remove') ? oldKinds : oldKinds.filter((kind) => only.includes(kind))
  return asked.map((kind) => [kind, kinds[kind]])
}

/** What the job would remove of a kind now. */
type HousekeepingCount = OldCount & { kind: OldKind; days: number }

/**
 * What the job would remove now, by kind: by the clock of our database alone, because nobody asks the service.
 * @param only these kinds; without it, all.
 */
export async function countHousekeeping(
  config: Config,
  db: Database,
  only?: readonly string[],
): Promise<HousekeepingCount[]> {
  const { now } = await openDatabaseClock(db)
  const counted = []
  for (const [kind, days] of retention(config, only)) {
    const found = days === 0 ? noneOld : await countOld(db, kind, daysBefore(days, now()))
    counted.push({ kind, days, ...found })
  }
  return counted
}

/** Removes what is older than it has to be kept, beside any other job: nothing that it removes is used by one. */
export const housekeeping: Job = {
  name: 'housekeeping',
  steps: [
    { name: 'remove', parts: oldKinds, run: remove },
    { name: 'report', run: finish },
  ],
}

/**
 * How far this process has come in the run that it was at last: only so that a turn need not go over again what the one
 * before left. Of one run, because there is one at a time, and one that another process ended would stay here for ever.
 */
let place: { run: number; kind: OldKind; after: number } | null = null

/**
 * Works for a turn and asks for the next: a process looks at one run at a time, and a night may wait. Removes nothing
 * where the clocks do not tell what is old.
 */
async function remove(deps: Deps, run: Run): Promise<StepResult> {
  const { config, db, logger } = deps
  const at = await askAgedBy(deps)
  if (at === null) return 'done'
  const until = performance.now() + turnMs
  const kinds = retention(config, run.asked.only)
  const left = place?.run === run.run_id ? place : null
  const begin = Math.max(
    0,
    kinds.findIndex(([kind]) => kind === left?.kind),
  )
  for (const [kind, days] of kinds.slice(begin)) {
    if (days === 0) continue
    let after: number | null = kind === left?.kind ? left.after : 0
    while (after !== null) {
      const removed = await removeSome(db, kind, daysBefore(days, at), after)
      if (removed.rows > 0) logger.info({ run_id: run.run_id, kind, rows: removed.rows, days }, 'old_rows_removed')
      after = removed.next
      if (after === null || performance.now() < until) continue
      place = { run: run.run_id, kind, after }
      await db.transaction().execute((trx) => deps.looks.atRun(trx, run.run_id))
      return 'waiting'
    }
  }
  place = null
  return 'done'
}

async function finish(deps: Deps, run: Run): Promise<StepResult> {
  const { config, db, logger } = deps
  const remarks = agedBy(deps) === null ? await keptRemarks(deps, retention(config, run.asked.only)) : []
  const finishedAt = deps.now()
  const report = {
    ...emptyReport(run, finishedAt),
    verdict: remarks.length > 0 ? 'partial' : 'succeeded',
    remarks,
  } as const
  await db
    .transaction()
    .execute((trx) => finishRun(trx, run.run_id, { verdict: report.verdict, report, finishedAt, carried: null }))
  logFinished(logger, report)
  return 'done'
}
