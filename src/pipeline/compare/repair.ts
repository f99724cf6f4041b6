import { hostname } from 'node:os'
import { recordAction } from '../../db/actions/record-action.ts'
import { countRepairable, markForRepair, noteUnsentRepair, type Repairable } from '../../db/ledger/rows-again.ts'
import { lockRun } from '../../db/runs/run-life.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { Deps } from '../deps.ts'

/**
 * Has the next run send again what the service accepted and does not show: absent rows by themselves, different ones
 * where `push.repair` says so for their stream. Once per finding, and never more at a time than the guard lets through;
 * what is more is named in the report, with the verb that sends it.
 */
export async function repairDifferences(deps: Deps, run: Run): Promise<void> {
  const { config, db, logger, now } = deps
  const done = await db.transaction().execute(async (trx) => {
    if (!(await lockRun(trx, run.run_id))) return []
    const found = (await countRepairable(trx)).filter((one) => isWanted(config, one))
    for (const one of found) {
      if (isTooMuch(config, one, found)) {
        await noteUnsentRepair(trx, { run_id: run.run_id, stream: one.stream, kind: one.kind, rows: one.rows })
        continue
      }
      const actionId = await recordAction(trx, {
        verb: 'repair',
        actor: { user: 'nightferry', host: hostname() },
        at: now(),
        rows: one.rows,
        asked: { stream: one.stream, difference: one.kind, run: String(run.run_id) },
        result: 'the next run sends them again',
      })
      await markForRepair(trx, actionId, run.run_id, one)
    }
    return found
  })
  for (const one of done) logger.warn({ run_id: run.run_id, ...one }, 'difference_to_repair')
}

function isWanted({ push }: Deps['config'], { stream, kind }: Repairable): boolean {
  return kind === 'absent' || push.repair[stream] === 'send'
}

/** As the guard judges what the partner changed: by the share of the stream, absent and different ones together. */
function isTooMuch({ guard }: Deps['config'], one: Repairable, found: readonly Repairable[]): boolean {
  const rows = found.filter(({ stream }) => stream === one.stream).reduce((sum, other) => sum + other.rows, 0)
  return rows >= guard.minRows && rows > guard.maxChangedShare * one.known
}
