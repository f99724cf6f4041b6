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

/** The database is that of another profile, whose daemon works with it. */
class OthersDatabase extends Error {
  readonly code = 'database_of_another_profile'
}

/** A service that does not say whose a key is must not keep a daemon from starting: runs ask again. Milliseconds. */
const patienceMs = 10_000

/**
 * Makes sure that a daemon does not begin beside one that serves another profile from the same database. It would send
 * nothing, because every look asks for the destination; but its schedule would begin runs of the other's ledger.
 * @throws {OthersDatabase} saying what differs.
 */
export async function refuseOthersDatabase(deps: DestinationDeps): Promise<void> {
  const { db, required } = deps
  const told = await destinationChange(deps, 'leave')
  if (told === null || !(await isOtherKeyAtWork(db, keyFingerprint(required.apiKey, required.baseUrl)))) return
  // A key that replaces another of the same profile is at home here.
  const change = isUnaskedKey(told) ? await asked(deps) : told
  if (change === null || (change.changed.length === 1 && change.profile?.profile === 'unsure')) return
  throw new OthersDatabase(
    `Another daemon works with this database, for ${change.inUse.name}: ${whatChanged(change)}. Give each profile a database of its own, as docs/operations.md says under "Several profiles". To move this installation to the other profile instead: nightferry destination other, and then restart the daemons.`,
  )
}

async function asked(deps: DestinationDeps): Promise<DestinationChange | null> {
  const asking = destinationChange(deps, 'ask').catch(() => null)
  return await Promise.race([asking, delay(patienceMs, null, { ref: false })])
}
