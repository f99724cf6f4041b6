import { sql, type Transaction } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Destination, ProfileCertainty } from '../../db/tables/service-tables.ts'
import { serviceAddress } from '../../exchange/connector.ts'

/** Where a service is: two under one host are told apart by their paths. */
type Place = Pick<Destination, 'origin' | 'path'>

/** Where a base address leads, however it is written. Pure. @throws {TypeError} as serviceAddress. */
export function placeOf(baseUrl: string): { origin: string; path: string } {
  const { origin, prefix } = serviceAddress(baseUrl)
  return { origin, path: prefix }
}

/**
 * Whether a destination may be at a place. What is not known of it fits any: of one that was used before paths were
 * kept only the origin is known, until a run has used it again. Pure.
 */
export function mayBeAt(known: Place, { origin, path }: Place): boolean {
  return known.origin === null || (known.origin === origin && (known.path === null || known.path === path))
}

/** A place as people write it. Pure. */
export function addressOf({ origin, path }: Place): string | null {
  return origin === null ? null : `${origin}${path ?? ''}`
}

/** The destination that runs send to. */
export async function destinationInUse(db: Database): Promise<Destination> {
  return await db.selectFrom('destination').selectAll().where('schema_name', 'is', null).executeTakeFirstOrThrow()
}

/** Every destination, in the order in which they were first used. */
export async function allDestinations(db: Database): Promise<Destination[]> {
  return await db.selectFrom('destination').selectAll().orderBy('destination_id').execute()
}

/** What a destination is called until it is known where it is. */
export const nameAtFirst = 'first'

/**
 * The name of the only destination, if it is one that nobody gave it: what is told of it need not say of which. Null
 * where people have to know.
 */
export async function nameWithoutSaying(db: Database): Promise<string | null> {
  const [only, ...others] = await allDestinations(db)
  if (only === undefined || others.length > 0) return null
  return isCalledByHost(only) ? only.name : null
}

/** Whether nobody gave a destination its name. Pure. */
export function isCalledByHost({ name, origin }: Destination): boolean {
  return name === nameAtFirst || (origin !== null && name === new URL(origin).host)
}

/** Whether a key is known to act as the profile of a destination. */
export async function isKnownKey(db: Database, destinationId: number, fingerprint: string): Promise<boolean> {
  const known = await db
    .selectFrom('destination_key')
    .select('fingerprint')
    .where('destination_id', '=', destinationId)
    .where('fingerprint', '=', fingerprint)
    .executeTakeFirst()
  return known !== undefined
}

/** Notes that a key acts as the profile of a destination, and why that is believed. */
export async function addKey(
  trx: Transaction<Schema>,
  destinationId: number,
  fingerprint: string,
  certainty: ProfileCertainty,
  evidence: string | null,
): Promise<void> {
  await trx
    .insertInto('destination_key')
    .values({ destination_id: destinationId, fingerprint, profile_certainty: certainty, evidence })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * Forgets what the service calls a key that was used under another path of the same host, where that may be another
 * service: requests whose answers are lost would not know their tasks there by the old name. The next task shows it.
 */
export async function forgetKeyId(
  trx: Transaction<Schema>,
  fingerprint: string,
  { origin, path }: Place,
): Promise<void> {
  await sql`
    update service_key set api_key_id = null
    where fingerprint = ${fingerprint} and exists (
      select from destination join destination_key using (destination_id)
      where destination_key.fingerprint = service_key.fingerprint
        and destination.origin = ${origin} and destination.path is distinct from ${path})`.execute(trx)
}

/** Says where a destination is, and under which identifier it names companies; null: that stays as it is known. */
export async function bindDestination(
  trx: Transaction<Schema>,
  destinationId: number,
  to: { origin: string; path: string; customIdentifierId: string | null; name?: string },
): Promise<void> {
  await trx
    .updateTable('destination')
    .set({
      origin: to.origin,
      path: to.path,
      ...(to.customIdentifierId !== null && { custom_identifier_id: to.customIdentifierId }),
      ...(to.name && { name: to.name }),
    })
    .where('destination_id', '=', destinationId)
    .execute()
}

/**
 * Says under which path a destination is that was used before paths were kept, and which identifier names companies
 * there, where so far was only read. The first word counts.
 */
export async function learnPlace(
  db: Database,
  destinationId: number,
  { path, customIdentifierId }: { path: string; customIdentifierId: string | null },
): Promise<void> {
  await sql`
    update destination
    set path = coalesce(path, ${path}), custom_identifier_id = coalesce(custom_identifier_id, ${customIdentifierId})
    where destination_id = ${destinationId}`.execute(db)
}

/** Whether companies may be named at a destination as somebody is configured to; where one only reads they are not. */
export function mayBeNamedBy({ custom_identifier_id: known }: Destination, identifier: string | null): boolean {
  return known === null || identifier === null || known === identifier
}

/** Whether anything was ever sent to the destination in use, so that something would be lost with it. */
export async function wasEverUsed(db: Database): Promise<boolean> {
  const { rows } = await sql<{ used: boolean }>`
    select exists (select from submission join run using (run_id)
                   where run.destination_id = destination_in_use() and attempted_at is not null)
      or exists (select from acceptance where outcome is not null)
      or exists (select from mapping) or exists (select from company) as used`.execute(db)
  return rows[0]?.used ?? false
}

/** A key that was used with this database before destinations had keys. */
export async function wasKeyUsed(db: Database, fingerprint: string): Promise<boolean> {
  const used = await db
    .selectFrom('service_key')
    .select('fingerprint')
    .where('fingerprint', '=', fingerprint)
    .executeTakeFirst()
  return used !== undefined
}

/** What the destination in use took: told before another takes its place. */
export type Stake = { accepted: number; in_flight: number; mapped: number; companies: number }

export async function stakeInUse(db: Database): Promise<Stake> {
  const { rows } = await sql<Stake>`
    select (select count(*) from acceptance where accepted_hash is not null) as accepted,
           (select count(*) from submission_row
            where submission_id in (select submission_id from held_property)) as in_flight,
           (select count(*) from mapping) as mapped,
           (select count(*) from company where removed_at is null) as companies`.execute(db)
  return rows[0] ?? { accepted: 0, in_flight: 0, mapped: 0, companies: 0 }
}

/** The ids of what a profile showed when reference data was fetched for a destination last. */
export type KnownProfile = {
  groups: string[]
  /** Custom properties that the profile owns. */
  owned: string[]
  /** Correlation ids of the newest tasks that were sent there. */
  tasks: string[]
}

/** Tasks that are looked for in a task list: it shows the newest, so older ones prove nothing. */
const newestTasks = 500

/**
 * What is known of a destination's profile: of the one in use, or of one whose tables wait in a schema of their own.
 */
export async function knownProfile(db: Database, { destination_id, schema_name }: Destination): Promise<KnownProfile> {
  const referenceData = schema_name === null ? sql.table('reference_data') : sql.id(schema_name, 'reference_data')
  const { rows } = await sql<KnownProfile>`
    select coalesce(array_agg(lower(id)) filter (where kind = 'group'), '{}') as groups,
           coalesce(array_agg(lower(id)) filter (
             where kind = 'custom_property' and (document ->> 'isOwnedByInvokingCompany')::boolean), '{}') as owned,
           array(
             select lower(correlation_id) from submission join run using (run_id)
             where run.destination_id = ${destination_id} and correlation_id is not null
             order by submission_id desc limit ${newestTasks}) as tasks
    from ${referenceData}`.execute(db)
  return rows[0] ?? { groups: [], owned: [], tasks: [] }
}
