import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Deps } from '../../pipeline/deps.ts'
import { configuredDestination } from '../../pipeline/destination/check-destination.ts'
import { addKey, bindDestination, destinationInUse } from '../../pipeline/destination/find-destination.ts'

type Pointed = {
  /** Why the real run would stop over its destination, for a person; null: the ledger gives no reason. */
  moved: string | null
  /** Requests of earlier nights whose tasks the service has not ended. */
  inFlight: number
}

/**
 * Tells a copy of the ledger that the mirror is the service that its rows were accepted by. Only ever called with the
 * copy.
 * @param real where the configuration points to.
 * @param mirror where the mirror answers, with the key that was made for it.
 */
export async function pointAtMirror(
  copy: Database,
  real: Pick<Deps, 'required'>,
  mirror: Pick<Deps, 'required'>,
): Promise<Pointed> {
  const inUse = await destinationInUse(copy)
  const wanted = configuredDestination(real)
  const changed = [
    ...(inUse.origin !== null && inUse.origin !== wanted.origin ? [`its address was ${inUse.origin}`] : []),
    ...(inUse.custom_identifier_id !== null && inUse.custom_identifier_id !== wanted.customIdentifierId
      ? [`its identifier was ${inUse.custom_identifier_id}`]
      : []),
  ]
  const configured = configuredDestination(mirror)
  await copy.transaction().execute(async (trx) => {
    await bindDestination(trx, inUse.destination_id, configured)
    // A copy of purpose: that it is another database than that of the last run is no news.
    await trx.updateTable('run').set({ own_database: null }).where('own_database', 'is not', null).execute()
    await addKey(trx, inUse.destination_id, configured.fingerprint, 'told', 'the key of a mirror')
  })
  const { rows } = await sql<{ open: number }>`
    select count(*) as open from submission
    where state in ('planned', 'sending', 'accepted', 'terminal', 'uncertain')`.execute(copy)
  return { moved: changed.length === 0 ? null : changed.join('; '), inFlight: rows[0]?.open ?? 0 }
}
