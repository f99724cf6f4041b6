import { setTimeout as delay } from 'node:timers/promises'
import { isOtherKeyAtWork } from '../../db/service-key/keys-at-work.ts'
import { keyFingerprint } from '../gate/shared-gate.ts'
import {
  type DestinationChange,
  type DestinationDeps,
  destinationChange,
  isUnaskedKey,
  whatChanged,
} from './check-destination.ts'
import { isKnownKey } from './find-destination.ts'

/** A process works with the database, and not for the destination that is configured here. */
class OthersDatabase extends Error {
  readonly code = 'database_of_another_profile'
}

/** A service that does not say whose a key is must not keep a daemon from starting: runs ask again. Milliseconds. */
const patienceMs = 10_000

/**
 * Makes sure that a daemon does not begin beside a process that serves another profile from the same database. It would
 * send nothing, because every look asks for the destination; but its schedule would begin runs of the other's ledger.
 *
 * Where the service only moved, it begins and leaves looks to the others: processes that are exchanged one by one must
 * not wait for each other.
 * @throws {OthersDatabase} saying what differs.
 */
export async function refuseOthersDatabase(deps: DestinationDeps): Promise<void> {
  const { db, required } = deps
  const told = await destinationChange(deps, 'leave')
  if (told === null || !(await isOtherKeyAtWork(db, keyFingerprint(required.apiKey, required.baseUrl)))) return
  if (await isOnlyMoved(deps, told)) {
    deps.logger.warn({ destination: told.inUse.name, changed: whatChanged(told) }, 'looks_left_to_others')
    return
  }
  // A key that replaces another of the same profile is at home here.
  const change = isUnaskedKey(told) ? await asked(deps) : told
  if (change === null || (change.changed.length === 1 && change.profile?.profile === 'unsure')) return
  throw new OthersDatabase(
    `Another process works with this database, for ${change.inUse.name}: ${whatChanged(change)}. If it is the same service and profile under a new name or address: nightferry destination same, and then restart the daemons; all that was accepted stays accepted. If it is another profile, give it a database of its own, as docs/operations.md says under "Several profiles"; nightferry destination other would move this installation to it, and send it every row.`,
  )
}

/** Whether the key is known, but for the address that its fingerprint holds, and nothing else differs. */
async function isOnlyMoved(
  { db, required }: DestinationDeps,
  { inUse: { destination_id, origin }, changed }: DestinationChange,
): Promise<boolean> {
  if (origin === null || changed.some((one) => one !== 'address')) return false
  return await isKnownKey(db, destination_id, keyFingerprint(required.apiKey, origin))
}

async function asked(deps: DestinationDeps): Promise<DestinationChange | null> {
  const asking = destinationChange(deps, 'ask').catch(() => null)
  return await Promise.race([asking, delay(patienceMs, null, { ref: false })])
}
