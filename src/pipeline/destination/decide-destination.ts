import { sql, type Transaction } from 'kysely'
import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import { runningRuns } from '../../db/runs/run-life.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Destination } from '../../db/tables/service-tables.ts'
import { ActionRefused } from '../actions/action-refused.ts'
import { configuredDestination, type DestinationChange, type DestinationDeps, profileOf } from './check-destination.ts'
import { addKey, allDestinations, bindDestination, isKnownKey } from './find-destination.ts'
import { makeDestination, switchDestination } from './switch-destination.ts'

export type Decided = { destination: string; was: string; made: boolean }

type Decision = { actor: Actor; at: Date; name?: string }

/**
 * A person's word that the configured destination is the one in use under a new name: what was accepted stays true
 * there.
 * @throws {ActionRefused} `run_under_way`.
 */
export async function sameDestination(
  deps: DestinationDeps,
  { inUse }: DestinationChange,
  { actor, at, name }: Decision,
): Promise<Decided> {
  const configured = configuredDestination(deps)
  const kept = name ?? inUse.name
  await deps.db.transaction().execute(async (trx) => {
    await refuseWhileRunning(trx)
    await refuseTakenName(trx, kept, inUse.destination_id)
    await bindDestination(trx, inUse.destination_id, { ...configured, name: kept })
    await addKey(trx, inUse.destination_id, configured.fingerprint, 'told', `${actor.user} said so`)
    await recordAction(trx, {
      verb: 'destination',
      actor,
      at,
      rows: 0,
      asked: { decision: 'same', origin: configured.origin, customIdentifierId: configured.customIdentifierId },
      result: `${inUse.name} is the same under a new name`,
    })
  })
  deps.logger.warn({ destination: kept, was: inUse.name, origin: configured.origin }, 'destination_renamed')
  return { destination: kept, was: inUse.name, made: false }
}

/**
 * A person's word that the configured destination is another than the one in use: it is put to use with what it took
 * itself, if it was used before, or else with nothing.
 * @throws {ActionRefused} `run_under_way`; `name_taken`.
 */
export async function otherDestination(
  deps: DestinationDeps,
  { inUse }: DestinationChange,
  { actor, at, name }: Decision,
): Promise<Decided> {
  const configured = configuredDestination(deps)
  const known = await matchingDestination(deps)
  const decided = await deps.db.transaction().execute(async (trx) => {
    await refuseWhileRunning(trx)
    const wanted = name ?? known?.name ?? (await freeName(trx, new URL(configured.origin).host))
    await refuseTakenName(trx, wanted, known?.destination_id ?? null)
    const to = known ?? (await makeDestination(trx, wanted))
    await switchDestination(trx, to)
    await bindDestination(trx, to.destination_id, { ...configured, name: wanted })
    await addKey(trx, to.destination_id, configured.fingerprint, known === null ? 'certain' : 'told', null)
    await recordAction(trx, {
      verb: 'destination',
      actor,
      at,
      rows: 0,
      asked: { decision: 'other', origin: configured.origin, customIdentifierId: configured.customIdentifierId },
      result: `${wanted} is in use instead of ${inUse.name}`,
    })
    return { destination: wanted, was: inUse.name, made: known === null }
  })
  deps.logger.warn({ ...decided, origin: configured.origin }, 'destination_switched')
  return decided
}

/**
 * A destination that was used before and is the configured one: by address, identifier and key, or, with a key that is
 * new, by what that shows of its profile.
 */
async function matchingDestination(deps: DestinationDeps): Promise<Destination | null> {
  const { origin, customIdentifierId, fingerprint } = configuredDestination(deps)
  const alike = (await allDestinations(deps.db)).filter(
    (known) =>
      known.schema_name !== null && known.origin === origin && known.custom_identifier_id === customIdentifierId,
  )
  for (const known of alike) {
    if (await isKnownKey(deps.db, known.destination_id, fingerprint)) return known
  }
  for (const known of alike) {
    const { profile, certainty } = await profileOf(deps, known)
    // What groups show is not enough to take what was accepted there for accepted.
    if (profile === 'same' && certainty === 'certain') return known
  }
  return null
}

async function refuseWhileRunning(trx: Transaction<Schema>): Promise<void> {
  // No run begins before this transaction has ended: it would be one of the destination that is left.
  await sql`lock table run in share row exclusive mode`.execute(trx)
  const [running] = await runningRuns(trx)
  if (running === undefined) return
  throw new ActionRefused(
    'run_under_way',
    `Run ${running.run_id} is under way. Let it end first: with the configuration as it is now, nightferry run ends it by itself`,
  )
}

async function refuseTakenName(trx: Transaction<Schema>, name: string, own: number | null): Promise<void> {
  const taken = await trx.selectFrom('destination').select('destination_id').where('name', '=', name).executeTakeFirst()
  if (taken === undefined || taken.destination_id === own) return
  throw new ActionRefused('name_taken', `Another destination is called ${name}. Give this one a name with --name`)
}

async function freeName(trx: Transaction<Schema>, wanted: string): Promise<string> {
  const names = new Set((await trx.selectFrom('destination').select('name').execute()).map(({ name }) => name))
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted} ${number}`
    if (!names.has(name)) return name
  }
}
