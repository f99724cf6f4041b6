import { type RawBuilder, sql } from 'kysely'
import { storableText } from '../copy-text.ts'
import type { Database } from '../database.ts'

/**
 * The key in use, one row at most: the one with which a call was admitted last. Anyone who only looks at the ledger
 * need not have it. It depends on no row, so a query asks it once. A call that was made while the clock
 * was ahead counts only where there is no other.
 */
export const keyInUse = sql`(
  select * from service_key order by used_at > clock_timestamp(), used_at desc limit 1)`

/** Since when the service does not accept the key in use; null while it does: then nothing waits for that. */
export const keyDeniedSince: RawBuilder<Date | null> = sql<Date | null>`(
  select used_key.open_since from ${keyInUse} used_key)`

/** What keeps all rows from being sent while the breaker is open, as a requirement of each (parked-reason.ts). */
export const keyRequirement: RawBuilder<unknown> = sql`(
  select 'key' as required, 'key' as requirement_state, used_key.refusal_code as requirement_code,
         used_key.refusal_message as requirement_reason, null::bigint as requirement_held_by,
         null::bigint as requirement_guard_run, used_key.open_since as requirement_since
  from ${keyInUse} used_key where used_key.open_since is not null)`

/** The key in use, if the service does not accept it, and what it said. */
export async function deniedKeyInUse(db: Database): Promise<Omit<DeniedKey, 'probeInMs'> | null> {
  const { rows } = await sql<Omit<DeniedKey, 'probeInMs'>>`
    select open_since as since, refusal_code as "errorCode", refusal_message as "serviceMessage"
    from ${keyInUse} used_key where used_key.open_since is not null`.execute(db)
  return rows[0] ?? null
}

/** The service's clock minus the database's, in milliseconds, as measured on a call. */
type StoredSkew = { lowMs: number; highMs: number; measuredAt: Date }

/** Keeps what a call told of the service's clock. */
export async function storeSkew(
  db: Database,
  fingerprint: string,
  { lowMs, highMs }: Omit<StoredSkew, 'measuredAt'>,
): Promise<void> {
  const low = Math.floor(lowMs)
  const high = Math.ceil(highMs)
  await sql`
    insert into service_key (fingerprint, skew_low_ms, skew_high_ms, skew_at)
    values (${fingerprint}, ${low}, ${high}, clock_timestamp())
    on conflict (fingerprint) do update
    set skew_low_ms = excluded.skew_low_ms, skew_high_ms = excluded.skew_high_ms, skew_at = excluded.skew_at`.execute(
    db,
  )
}

/** How far the service's clock was from the database's when the key in use called it last; null: it never said. */
export async function skewInUse(db: Database): Promise<StoredSkew | null> {
  const { rows } = await sql<StoredSkew>`
    select skew_low_ms::float8 as "lowMs", skew_high_ms::float8 as "highMs", skew_at as "measuredAt"
    from ${keyInUse} used_key where used_key.skew_at is not null`.execute(db)
  return rows[0] ?? null
}

/** Keeps what the service calls a key, as a task shows that was submitted with it. */
export async function storeApiKeyId(db: Database, fingerprint: string, apiKeyId: string): Promise<void> {
  await sql`
    update service_key set api_key_id = ${apiKeyId}
    where fingerprint = ${fingerprint} and api_key_id is distinct from ${apiKeyId}`.execute(db)
}

/** What the service calls a key; null while no task has shown it. */
export async function apiKeyIdOf(db: Database, fingerprint: string | null): Promise<string | null> {
  if (fingerprint === null) return null
  const { rows } = await sql<{ api_key_id: string | null }>`
    select api_key_id from service_key where fingerprint = ${fingerprint}`.execute(db)
  return rows[0]?.api_key_id ?? null
}

/** What the service calls our keys, as far as tasks have shown. */
export async function knownApiKeyIds(db: Database): Promise<string[]> {
  const { rows } = await sql<{ api_key_id: string }>`
    select distinct api_key_id from service_key where api_key_id is not null`.execute(db)
  return rows.map(({ api_key_id }) => api_key_id)
}

/** A key whose breaker is open. */
export type DeniedKey = {
  since: Date
  errorCode: string | null
  serviceMessage: string | null
  /** Until the next probe may go out; 0 or less: now. */
  probeInMs: number
}

type Said = Pick<DeniedKey, 'errorCode' | 'serviceMessage'>

/** Whether the breaker of a key is open, and what the service said; null while it is closed. */
export async function deniedKey(db: Database, fingerprint: string): Promise<DeniedKey | null> {
  const { rows } = await sql<DeniedKey>`
    select open_since as since, refusal_code as "errorCode", refusal_message as "serviceMessage",
           (1000 * extract(epoch from probe_at - clock_timestamp()))::float8 as "probeInMs"
    from service_key where fingerprint = ${fingerprint} and open_since is not null`.execute(db)
  return rows[0] ?? null
}

/**
 * Opens the breaker of a key, or notes that a probe found it still denied: `since` stays the first time.
 * @returns whether it was closed before.
 */
export async function openBreaker(
  db: Database,
  fingerprint: string,
  { errorCode, serviceMessage }: Said,
  probeIntervalMs: number,
): Promise<boolean> {
  const code = errorCode === null ? null : storableText(errorCode)
  const message = serviceMessage === null ? null : storableText(serviceMessage)
  const { rows } = await sql<{ opened: boolean }>`
    with before as (select open_since from service_key where fingerprint = ${fingerprint} for update)
    update service_key
    set open_since = coalesce(service_key.open_since, clock_timestamp()),
        refusal_code = ${code}, refusal_message = ${message},
        probe_at = clock_timestamp() + ${probeIntervalMs}::float8 * interval '1 millisecond'
    from before
    where fingerprint = ${fingerprint}
    returning before.open_since is null as opened`.execute(db)
  return rows[0]?.opened ?? false
}

/**
 * Claims the next probe of a key whose breaker is open. Of all processes that want it one gets it.
 * A probe that is further ahead than an interval was put off by a clock that has been put back since.
 * @param atOnce does not wait until it is due: a person waits for the answer.
 */
export async function claimProbe(
  db: Database,
  fingerprint: string,
  probeIntervalMs: number,
  atOnce: boolean,
): Promise<boolean> {
  const interval = sql`(${probeIntervalMs}::float8 * interval '1 millisecond')`
  const { rows } = await sql`
    update service_key set probe_at = clock_timestamp() + ${interval}
    where fingerprint = ${fingerprint} and open_since is not null
      and (probe_at not between clock_timestamp() and clock_timestamp() + ${interval} or ${atOnce})
    returning fingerprint`.execute(db)
  return rows.length > 0
}

/** Closes the breaker of a key. @returns since when it had been open; null when it was not. */
export async function closeBreaker(db: Database, fingerprint: string): Promise<Date | null> {
  const { rows } = await sql<{ since: Date }>`
    with before as (
      select open_since from service_key where fingerprint = ${fingerprint} and open_since is not null for update)
    update service_key
    set open_since = null, refusal_code = null, refusal_message = null, probe_at = null, used_at = clock_timestamp()
    from before
    where fingerprint = ${fingerprint}
    returning before.open_since as since`.execute(db)
  return rows[0]?.since ?? null
}

/**
 * The furthest ahead that turns are reserved, or calls paused: what lies beyond that was written by a clock that has
 * been put back since, and would stop all calls for as long. Too low, and very many daemons at a very low rate call
 * early.
 */
const furthestAhead = sql`interval '15 minutes'`

/** A moment of the key's row, or now where it cannot be true. */
const believed = (column: 'next_call_at' | 'paused_until') =>
  sql`case when key.${sql.ref(column)} <= clock_timestamp() + ${furthestAhead} then key.${sql.ref(column)} end`

/**
 * Reserves the next turns of a key, one after the other, `spacingMs` apart, behind those that any process has reserved
 * and behind a pause that the service asked for. By the database's clock: those of processes differ.
 *
 * @returns milliseconds until the first of them; null while the breaker of the key is open.
 */
export async function reserveCalls(
  db: Database,
  fingerprint: string,
  calls: number,
  spacingMs: number,
): Promise<number | null> {
  const length = sql`(${calls * spacingMs}::float8 * interval '1 millisecond')`
  const { rows } = await sql<{ in_ms: number }>`
    insert into service_key as key (fingerprint, next_call_at) values (${fingerprint}, clock_timestamp() + ${length})
    on conflict (fingerprint) do update
    set next_call_at = greatest(${believed('next_call_at')}, ${believed('paused_until')},
      clock_timestamp()) + ${length},
        used_at = clock_timestamp()
    where key.open_since is null
    returning (1000 * extract(epoch from next_call_at - ${length} - clock_timestamp()))::float8 as in_ms`.execute(db)
  return rows[0]?.in_ms ?? null
}

/** Lets no turn of a key begin for some time, no matter who asks; a pause that lasts longer stays. */
export async function pauseCalls(db: Database, fingerprint: string, pauseMs: number): Promise<void> {
  await sql`
    update service_key as key
    set paused_until = greatest(${believed('paused_until')},
      clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond')
    where fingerprint = ${fingerprint}`.execute(db)
}

/** What is known of the key in use; `profile_certainty` null: its profile is not known. */
type KeyFacts = {
  api_key_id: string | null
  used_at: Date
  open_since: Date | null
  destination: string | null
  origin: string | null
  profile_certainty: string | null
  evidence: string | null
}

/** The key in use and the destination in use; null before the first call. */
export async function keyFacts(db: Database): Promise<KeyFacts | null> {
  const { rows } = await sql<KeyFacts>`
    select used_key.api_key_id, used_key.used_at, used_key.open_since, destination.name as destination,
           destination.origin || coalesce(destination.path, '') as origin, profile_certainty, evidence
    from ${keyInUse} used_key
    left join destination on destination.schema_name is null
    left join destination_key using (destination_id, fingerprint)`.execute(db)
  return rows[0] ?? null
}
