import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import type { Deps } from '../deps.ts'
import { type Restored, type RestoreFilter, restoreRemoved } from '../pull/removals/restore-removed.ts'
import { type Accepted, acceptRemovals, type PartFilter } from '../pull/removals/take-removals.ts'

/** Lets withheld removals through and writes down who did. Nothing is written where nothing was withheld. */
export async function acceptRemovalsOf(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  filter: PartFilter,
  actor: Actor,
): Promise<Accepted> {
  return await db.transaction().execute(async (trx) => {
    const accepted = await acceptRemovals(trx, filter)
    const rows = total(accepted)
    if (rows > 0) {
      const result = `${partsWords(accepted)} removed`
      await recordAction(trx, { verb: 'accept-removals', actor, at: now(), rows, asked: askedOf(filter), result })
    }
    return accepted
  })
}

/** Brings back what was removed and writes down who did. Nothing is written where nothing could be brought back. */
export async function restore(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  filter: RestoreFilter,
  actor: Actor,
): Promise<Restored> {
  return await db.transaction().execute(async (trx) => {
    const restored = await restoreRemoved(trx, filter)
    const rows = total(restored)
    if (rows > 0) {
      const result = `${partsWords(restored)} brought back`
      await recordAction(trx, { verb: 'restore', actor, at: now(), rows, asked: askedOf(filter), result })
    }
    return restored
  })
}

/** What was removed or brought back, as a person reads it. Pure. */
export function partsWords({ companies, calculators, values, properties }: Accepted | Restored): string {
  return [
    `${values} ${values === 1 ? 'value' : 'values'}`,
    `${properties} ${properties === 1 ? 'property value' : 'property values'}`,
    `${calculators} ${calculators === 1 ? 'calculator' : 'calculators'}`,
    `${companies} ${companies === 1 ? 'company' : 'companies'}`,
  ].join(', ')
}

/** How many parts in all. Pure. */
export function total({ companies, calculators, values, properties }: Accepted | Restored): number {
  return companies + calculators + values + properties
}

function askedOf({ reason, partnerId, runId, since }: PartFilter): Record<string, string> {
  return {
    ...(reason !== undefined && { reason }),
    ...(partnerId !== undefined && { partnerId }),
    ...(runId !== undefined && { run: String(runId) }),
    ...(since !== undefined && { since: since.toISOString() }),
  }
}
