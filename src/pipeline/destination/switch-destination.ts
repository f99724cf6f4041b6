import { sql, type Transaction } from 'kysely'
import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import { schemaName } from '../../db/migrate-to-latest.ts'
import { runningRuns, verbOfRun } from '../../db/runs/run-life.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Destination } from '../../db/tables/service-tables.ts'
import { doubtReverted } from '../delta/landing/after-landing.ts'
import { ActionRefused } from '../deps.ts'
import { configuredDestination, type DestinationChange, type DestinationDeps, profileOf } from './check-destination.ts'
import { copyEmpty, movingRelations, ownRelations, type Relation } from './copy-empty.ts'
import {
  addKey,
  addressOf,
  allDestinations,
  bindDestination,
  destinationInUse,
  forgetKeyId,
  isCalledByHost,
  isKnownKey,
  mayBeAt,
  mayBeNamedBy,
} from './find-destination.ts'

/** `made`: it is new. `lost`: it was used before, and what it took then is not in this database. */
export type Decided = { destination: string; was: string; address: string | null; made: boolean; lost: boolean }

type Decision = { actor: Actor; at: Date; name?: string }

/**
 * A person's word that the configured destination is the one in use under a new name, or address: what was accepted
 * stays true there.
 * @throws {ActionRefused} `run_under_way`.
 */
export async function sameDestination(
  deps: DestinationDeps,
  { inUse }: Pick<DestinationChange, 'inUse'>,
  { actor, at, name }: Decision,
): Promise<Decided> {
  const configured = configuredDestination(deps)
  const address = addressOf(configured)
  const kept = await deps.db.transaction().execute(async (trx) => {
    await refuseWhileRunning(trx)
    const host = new URL(configured.origin).host
    const kept = name ?? (isCalledByHost(inUse) ? await freeName(trx, host, inUse.destination_id) : inUse.name)
    await refuseTakenName(trx, kept, inUse.destination_id)
    await bindDestination(trx, inUse.destination_id, { ...configured, name: kept })
    await addKey(trx, inUse.destination_id, configured.fingerprint, 'told', `${actor.user} said so`)
    await recordAction(trx, {
      verb: 'destination',
      actor,
      at,
      rows: 0,
      asked: askedOf('same', configured),
      result: `${inUse.name} is the same under a new name`,
    })
    return kept
  })
  deps.logger.warn({ destination: kept, was: inUse.name, address }, 'destination_renamed')
  return { destination: kept, was: inUse.name, address, made: false, lost: false }
}

/**
 * A person's word that the configured destination is another than the one in use: it is put to use with what it took
 * itself, if it was used before, or else with nothing.
 * @throws {ActionRefused} `run_under_way`; `name_taken`; `destination_outdated`.
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
    const { empty } = await switchDestination(trx, to)
    await bindDestination(trx, to.destination_id, { ...configured, name: wanted })
    await forgetKeyId(trx, configured.fingerprint, configured)
    await addKey(trx, to.destination_id, configured.fingerprint, known === null ? 'certain' : 'told', null)
    await recordAction(trx, {
      verb: 'destination',
      actor,
      at,
      rows: 0,
      asked: askedOf('other', configured),
      result: `${wanted} is in use instead of ${inUse.name}`,
    })
    const lost = known !== null && empty
    return { destination: wanted, was: inUse.name, address: addressOf(configured), made: known === null, lost }
  })
  deps.logger.warn({ ...decided }, 'destination_switched')
  return decided
}

/** What is kept of a person's word. Pure. */
function askedOf(
  decision: 'same' | 'other',
  { origin, path, customIdentifierId }: ReturnType<typeof configuredDestination>,
): Record<string, string> {
  return { decision, origin, path, ...(customIdentifierId !== null && { customIdentifierId }) }
}

/**
 * A destination that was used before and is the configured one: by address, identifier and key, or, with a key that is
 * new, by what that shows of its profile. One whose path is not known is taken where none has the very path.
 */
async function matchingDestination(deps: DestinationDeps): Promise<Destination | null> {
  const configured = configuredDestination(deps)
  const { path, customIdentifierId, fingerprint } = configured
  const alike = (await allDestinations(deps.db))
    .filter(
      (known) =>
        known.schema_name !== null &&
        known.origin !== null &&
        mayBeAt(known, configured) &&
        mayBeNamedBy(known, customIdentifierId),
    )
    .toSorted((one, other) => Number(other.path === path) - Number(one.path === path))
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
    `Run ${running.run_id} is under way. Let it end first: with the configuration as it is now, ${verbOfRun(running)} ends it by itself`,
  )
}

async function refuseTakenName(trx: Transaction<Schema>, name: string, own: number | null): Promise<void> {
  const taken = await trx.selectFrom('destination').select('destination_id').where('name', '=', name).executeTakeFirst()
  if (taken === undefined || taken.destination_id === own) return
  throw new ActionRefused('name_taken', `Another destination is called ${name}. Give this one a name with --name`)
}

/** @param own the destination that is to be called so: its own name is free. */
async function freeName(trx: Transaction<Schema>, wanted: string, own: number | null = null): Promise<string> {
  const known = await trx.selectFrom('destination').select(['destination_id', 'name']).execute()
  const names = new Set(known.filter(({ destination_id }) => destination_id !== own).map(({ name }) => name))
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted} ${number}`
    if (!names.has(name)) return name
  }
}

/** How long the tables of a destination are waited for: who reads them meanwhile is in the way. Milliseconds. */
const lockTimeoutMs = 10_000

/**
 * Puts another destination to use. The tables of the one in use move to a schema of their own, under the same names,
 * where they can be read; those of the other move here, or are made empty where it was never used. Both happen in the
 * caller's transaction, so a process that reads by name sees the one or the other as a whole.
 *
 * What the partner has may have changed meanwhile: what the destination is to take is brought up to date from it.
 *
 * The caller makes sure that no run is under way.
 * @returns whether its tables were made: it was never used, or the backup that this database comes from left them out.
 * @throws {ActionRefused} `destination_outdated`.
 */
export async function switchDestination(trx: Transaction<Schema>, to: Destination): Promise<{ empty: boolean }> {
  if (to.schema_name === null) throw new Error(`destination ${to.destination_id} is in use already`)
  const from = await destinationInUse(trx)
  const parked = schemaOf(from)
  await sql`select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)`.execute(trx)
  const relations = await movingRelations(trx)
  const waiting = await relationsOf(trx, to.schema_name)
  if (waiting.length > 0) refuseParts(to, relations, waiting)
  await park(trx, relations, parked)
  if (waiting.length > 0) await move(trx, waiting, to.schema_name, schemaName)
  else await copyEmpty(trx, relations, parked)
  await sql`drop schema if exists ${sql.id(to.schema_name)}`.execute(trx)
  await sql`
    update destination set schema_name = ${parked}, left_at = clock_timestamp()
    where destination_id = ${from.destination_id}`.execute(trx)
  await sql`
    update destination set schema_name = null, left_at = null, used_since = clock_timestamp()
    where destination_id = ${to.destination_id}`.execute(trx)
  await catchUp(trx)
  return { empty: waiting.length === 0 }
}

/** Moves the tables of the destination in use to a schema that is made for them. */
async function park(trx: Transaction<Schema>, relations: readonly Relation[], schema: string): Promise<void> {
  await sql`create schema ${sql.id(schema)}`.execute(trx)
  await shareSchema(trx, schema)
  await move(trx, relations, schemaName, schema)
}

/**
 * Makes the tables of a destination that waits, empty: in a database whose own are empty too.
 * @param tables those that it has.
 */
export async function makeWaiting(trx: Transaction<Schema>, schema: string, tables: readonly string[]): Promise<void> {
  const relations = await movingRelations(trx, tables)
  await park(trx, relations, schema)
  await copyEmpty(trx, relations, schema)
}

/** Tables that wait since before some were made, or that a backup left some out of, are of no use: runs would fail. */
function refuseParts(to: Destination, whole: readonly Relation[], waiting: readonly Relation[]): void {
  const missing = whole
    .map(({ name }) => name)
    .filter((name) => ownRelations.includes(name) && waiting.every((found) => found.name !== name))
  if (missing.length === 0) return
  throw new ActionRefused(
    'destination_outdated',
    `The tables of ${to.name} wait in the schema ${to.schema_name} without ${missing.join(', ')}. Bring the schema back whole from a backup, or drop it: then nothing is known of what ${to.name} took, and everything is sent to it again`,
  )
}

/** Makes a destination known that was never used: its tables are made when it is put to use. */
export async function makeDestination(trx: Transaction<Schema>, name: string): Promise<Destination> {
  const made = await trx
    .insertInto('destination')
    // Replaced at once by the name with its number.
    .values({ name, schema_name: `${schemaName}_new`, left_at: sql<Date>`clock_timestamp()` })
    .returningAll()
    .executeTakeFirstOrThrow()
  return await trx
    .updateTable('destination')
    .set({ schema_name: schemaOf(made) })
    .where('destination_id', '=', made.destination_id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

function schemaOf({ destination_id }: Pick<Destination, 'destination_id'>): string {
  return `${schemaName}_destination_${destination_id}`
}

async function move(trx: Transaction<Schema>, relations: readonly Relation[], from: string, to: string): Promise<void> {
  for (const { name, view } of relations) {
    await sql`alter ${sql.raw(view ? 'view' : 'table')} ${sql.id(from, name)} set schema ${sql.id(to)}`.execute(trx)
  }
}

async function relationsOf(trx: Transaction<Schema>, schema: string): Promise<Relation[]> {
  const { rows } = await sql<Relation>`
    select relname as name, relkind = 'v' as view from pg_class
    where relnamespace = to_regnamespace(${schema})::oid and relkind in ('r', 'p', 'v')
    order by relkind = 'v', relname`.execute(trx)
  return rows
}

/** Anyone who may look into the schema in use may look into one that waits. */
async function shareSchema(trx: Transaction<Schema>, schema: string): Promise<void> {
  const { rows } = await sql<{ role: string | null }>`
    select r.rolname as role
    from pg_namespace n, aclexplode(n.nspacl) granted left join pg_roles r on r.oid = granted.grantee
    where n.nspname = ${schemaName} and granted.privilege_type = 'USAGE' and granted.grantee <> n.nspowner`.execute(trx)
  for (const { role } of rows) {
    await sql`grant usage on schema ${sql.id(schema)} to ${role === null ? sql.raw('public') : sql.id(role)}`.execute(
      trx,
    )
  }
}

/** Brings what the destination is to take up to what the partner has by now. */
async function catchUp(trx: Transaction<Schema>): Promise<void> {
  await sql`
    insert into acceptance (row_id, partner_id, wanted_hash)
    select row_id, partner_id, desired_hash from source_row
    where not exists (select from acceptance where acceptance.row_id = source_row.row_id)
    order by row_id`.execute(trx)
  await sql`
    create temp table reverted_row on commit drop as
    select row_id from acceptance join source_row using (row_id)
    where desired_hash <> wanted_hash and desired_hash = accepted_hash`.execute(trx)
  await sql`
    update acceptance set wanted_hash = source_row.desired_hash, partner_id = source_row.partner_id
    from source_row
    where source_row.row_id = acceptance.row_id
      and (source_row.desired_hash <> acceptance.wanted_hash
        or source_row.partner_id <> acceptance.partner_id)`.execute(trx)
  // When they ceased to say what was accepted is not told by what came and went while another was in use.
  await doubtReverted(trx, sql`select row_id from reverted_row`, sql`null::timestamptz`)
  await sql`drop table reverted_row`.execute(trx)
  // Contradictions are kept for the destination in use: what contradicted another row there may not any more.
  await sql`
    update acceptance set checked_hash = null
    where invalid_reason is not null and checked_hash is not null
      and accepted_hash is distinct from wanted_hash`.execute(trx)
  await sql`analyze acceptance`.execute(trx)
}
