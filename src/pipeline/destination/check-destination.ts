import { isOtherKeyAtWork } from '../../db/service-key/keys-at-work.ts'
import type { Destination } from '../../db/tables/service-tables.ts'
import { type Deps, StopRun } from '../deps.ts'
import { keyFingerprint } from '../gate/shared-gate.ts'
import {
  addKey,
  addressOf,
  allDestinations,
  bindDestination,
  destinationInUse,
  isKnownKey,
  type KnownProfile,
  knownProfile,
  learnPlace,
  mayBeAt,
  mayBeNamedBy,
  nameAtFirst,
  placeOf,
  type Stake,
  stakeInUse,
  wasEverUsed,
  wasKeyUsed,
} from './find-destination.ts'

/** What the check needs: no queue, so that a plan and a verb can ask as well. */
export type DestinationDeps = Pick<Deps, 'required' | 'db' | 'exchange'> & {
  logger: Pick<Deps['logger'], 'info' | 'warn'>
}

/** Where the configuration points to. */
type ConfiguredDestination = { origin: string; path: string; customIdentifierId: string | null; fingerprint: string }

/** What differs between the destination in use and the one that is configured. */
export type DestinationChange = {
  inUse: Destination
  configured: ConfiguredDestination
  changed: ('address' | 'identifier' | 'profile')[]
  /** Null where the service was not asked. */
  profile: ProfileVerdict | null
}

/** Where the configuration points to: the service's place, the identifier, and the key by its fingerprint. Pure. */
export function configuredDestination({ required }: Pick<Deps, 'required'>): ConfiguredDestination {
  return {
    ...placeOf(required.baseUrl),
    customIdentifierId: required.customIdentifierId?.toLowerCase() ?? null,
    fingerprint: keyFingerprint(required.apiKey, required.baseUrl),
  }
}

/**
 * Makes sure that what this process would send goes where the ledger says that rows were accepted. Asked before each
 * look and each step of a run: two rows are read, and the service is asked only where something has changed.
 *
 * Another key of the same profile is noted and changes nothing (Authentication 3 and 4).
 *
 * @param service `leave`: the service is not asked, so that whose a new key is stays open.
 * @returns whether that stayed open; a run asks, and goes on or stops.
 * @throws {StopRun} `destination_changed`, with what changed, what would follow, and the verb that decides.
 */
export async function checkDestination(
  deps: DestinationDeps,
  service: 'ask' | 'leave' = 'ask',
): Promise<{ unaskedKey: boolean }> {
  const change = await destinationChange(deps, service)
  if (change === null) return { unaskedKey: false }
  if (isUnaskedKey(change)) return { unaskedKey: true }
  throw new StopRun('destination_changed', changeWords(change, await stakeInUse(deps.db)))
}

/**
 * What differs between the destination in use and the configured one; null where nothing does. Notes what it learns:
 * the first destination of a new ledger, and keys of the same profile.
 *
 * @param service `ask`: where only the key is new, the service is asked whose it is; `leave`: it counts as changed.
 */
export async function destinationChange(
  deps: DestinationDeps,
  service: 'ask' | 'leave',
): Promise<DestinationChange | null> {
  const { db } = deps
  const configured = configuredDestination(deps)
  const inUse = await destinationInUse(db)
  const knownKey = await isKnownKey(db, inUse.destination_id, configured.fingerprint)
  const { origin } = inUse
  const changed: DestinationChange['changed'] = []
  if (!mayBeAt(inUse, configured)) changed.push('address')
  if (!mayBeNamedBy(inUse, configured.customIdentifierId)) changed.push('identifier')
  if (changed.length === 0 && knownKey) {
    const named = inUse.custom_identifier_id !== null || configured.customIdentifierId === null
    if (inUse.path !== null && named) return null
    await learnPlace(db, inUse.destination_id, configured)
    return await destinationChange(deps, service)
  }
  const noted = async (certainty: 'certain' | 'likely', evidence: string) =>
    (await bind(deps, inUse, configured, certainty, evidence)) ? null : await destinationChange(deps, service)
  // Nothing was sent yet, and there is no other destination that it could be. Another process at work may have read
  // rows by now, which must not go to another profile, nor may two profiles pull into the same tables.
  const isFree = async () => {
    if (origin === null) return true
    if (await isOtherKeyAtWork(db, configured.fingerprint)) return false
    return changed.length === 0 || (await allDestinations(db)).length === 1
  }
  if (!(await wasEverUsed(db)) && (await isFree())) return await noted('certain', 'nothing had been sent before')
  // A ledger from before destinations had names: the keys that it was used with are known.
  if (origin === null && (await wasKeyUsed(db, configured.fingerprint))) {
    return await noted('certain', 'the key was used before')
  }
  if (service === 'leave') {
    return { inUse, configured, changed: changed.length > 0 ? changed : ['profile'], profile: null }
  }
  const profile = await profileOf(deps, inUse)
  if (changed.length === 0 && profile.profile === 'same') {
    deps.logger.info({ destination: inUse.name, ...profile }, 'key_of_same_profile')
    return await noted(profile.certainty, profile.evidence)
  }
  if (profile.profile !== 'same') changed.push('profile')
  return { inUse, configured, changed, profile }
}

/** Whether all that differs is a key of which nobody was asked whose it is: a run asks, and goes on if it may. Pure. */
export function isUnaskedKey({ changed, profile }: DestinationChange): boolean {
  return profile === null && changed.every((one) => one === 'profile')
}

/** Whose the configured key is, as far as what it shows tells. */
export async function profileOf(
  { db, exchange }: Pick<DestinationDeps, 'db' | 'exchange'>,
  destination: Destination,
): Promise<ProfileVerdict> {
  const known = await knownProfile(db, destination)
  const groups = await exchange.getGroups()
  const properties = await exchange.getCustomProperties()
  const tasks = await exchange.getTasks()
  return judgeProfile(known, {
    groups: groups.map(({ id }) => id.toLowerCase()),
    owned: properties.filter((property) => property.isOwnedByInvokingCompany).map(({ id }) => id.toLowerCase()),
    tasks: tasks.map(({ correlationId }) => correlationId.toLowerCase()),
  })
}

/**
 * Binds a destination to what is configured, and notes the key.
 * @returns false, with nothing done, where another process has bound it since it was read.
 */
async function bind(
  { db }: DestinationDeps,
  { destination_id, origin, path, custom_identifier_id, name }: Destination,
  configured: ConfiguredDestination,
  certainty: 'certain' | 'likely',
  evidence: string,
): Promise<boolean> {
  return await db.transaction().execute(async (trx) => {
    const now = await trx
      .selectFrom('destination')
      .selectAll()
      .where('destination_id', '=', destination_id)
      .where('schema_name', 'is', null)
      .forUpdate()
      .executeTakeFirst()
    const stands = now?.origin === origin && now.path === path && now.custom_identifier_id === custom_identifier_id
    if (!stands) return false
    const first = origin === null && name === nameAtFirst ? { name: new URL(configured.origin).host } : {}
    await bindDestination(trx, destination_id, { ...configured, ...first })
    await addKey(trx, destination_id, configured.fingerprint, certainty, evidence)
    return true
  })
}

/** What changed, and how sure that is. Pure. */
export function whatChanged({ inUse, configured, changed, profile }: DestinationChange): string {
  const parts = [
    ...(changed.includes('address')
      ? [`the service's address was ${addressOf(inUse)} and is ${addressOf(configured)}`]
      : []),
    ...(changed.includes('identifier')
      ? [`exchange.customIdentifierId was ${inUse.custom_identifier_id} and is ${configured.customIdentifierId}`]
      : []),
    ...(profile === null ? (changed.includes('profile') ? ['the API key is another'] : []) : [profileWords(profile)]),
  ]
  return parts.join('; ')
}

/** What changed, how sure that is, what would follow, and the verbs that decide. Pure. */
export function changeWords(change: DestinationChange, stake: Stake): string {
  const { inUse } = change
  const held = `${stake.accepted} rows accepted, ${stake.mapped} mappings and ${stake.companies} companies pulled`
  const inFlight = stake.in_flight > 0 ? `; ${stake.in_flight} rows are in flight there` : ''
  return (
    `The destination is not the one that this ledger was sent to (${inUse.name}): ${whatChanged(change)}. Nothing was sent. ` +
    `The ledger says of ${inUse.name}: ${held}${inFlight}. ` +
    'If it is the same service and profile under a new name: nightferry destination same. All of that stays true, and nothing is sent again. ' +
    'If it is another: nightferry destination other. That begins with its own acceptances, mappings and pulled tables, and sends it every row; ' +
    `what ${inUse.name} took is kept, and found again when it is put back to use`
  )
}

function profileWords({ profile, certainty, evidence }: ProfileVerdict): string {
  const verdict = {
    same: `the key acts as the same profile (${certainty}: ${evidence})`,
    other: `the key acts as another profile (${certainty}: ${evidence})`,
    unsure: `whether the key acts as the same profile cannot be told: ${evidence}`,
  }
  return verdict[profile]
}

/** What a key shows of its profile now: ids in small letters. */
type ShownProfile = {
  groups: readonly string[]
  owned: readonly string[]
  /** Correlation ids of the newest tasks that it may read. */
  tasks: readonly string[]
}

export type ProfileVerdict = {
  profile: 'same' | 'other' | 'unsure'
  certainty: 'certain' | 'likely'
  /** What shows it, as a clause. */
  evidence: string
}

/**
 * Whether a key acts as the profile that is known of a destination. The service names a key's profile nowhere, so what
 * it may use has to show it. Pure.
 *
 * A custom property has one owner, so one that is owned before and now proves the profile, and others in the place of
 * those that were owned prove another. A task of ours in the list shows that the key reads our tasks. Groups may be
 * shared between profiles: the same ones make it likely where the profile owned nothing. A key that owns nothing any
 * more is left to a person, for an empty list may be a fault.
 * Spec gap: docs/spec-gaps.md, which profile a key acts as.
 */
function judgeProfile(known: KnownProfile, shown: ShownProfile): ProfileVerdict {
  const owned = common(known.owned, shown.owned)
  if (owned > 0) {
    return same('certain', `it owns ${owned} of the ${known.owned.length} custom properties that the profile owned`)
  }
  const tasks = common(known.tasks, shown.tasks)
  if (tasks > 0) return same('likely', `the task list shows ${tasks} of the tasks that were sent there`)
  if (known.owned.length > 0 && shown.owned.length > 0) {
    return other('certain', `it owns none of the ${known.owned.length} custom properties that the profile owned`)
  }
  const groups = common(known.groups, shown.groups)
  if (groups > 0 && groups === known.groups.length) {
    const mayUse = `it may use all of the ${groups} groups that the profile could use`
    if (known.owned.length === 0) return same('likely', mayUse)
    return unsure(`${mayUse}, and owns none of the ${known.owned.length} custom properties that it owned`)
  }
  if (known.groups.length > 0 && shown.groups.length > 0 && groups === 0) {
    return other('likely', `it may use none of the ${known.groups.length} groups that the profile could use`)
  }
  return unsure('nothing that it shows says which profile it is')
}

function unsure(evidence: string): ProfileVerdict {
  return { profile: 'unsure', certainty: 'likely', evidence }
}

function same(certainty: ProfileVerdict['certainty'], evidence: string): ProfileVerdict {
  return { profile: 'same', certainty, evidence }
}

function other(certainty: ProfileVerdict['certainty'], evidence: string): ProfileVerdict {
  return { profile: 'other', certainty, evidence }
}

function common(known: readonly string[], shown: readonly string[]): number {
  const ids = new Set(shown)
  return known.filter((id) => ids.has(id)).length
}
