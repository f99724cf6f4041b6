import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { DeniedKey } from './breaker.ts'

/**
 * The key in use, one row at most: the one with which a call was admitted last. Anyone who only looks at the ledger
 * need not have it. It depends on no row, so a query asks it once.
 */
export const keyInUse = sql`(select * from service_key order by used_at desc limit 1)`

/** Since when the service does not accept the key in use; null while it does: then nothing waits for that. */
export const keyDeniedSince: RawBuilder<Date | null> = sql<Date | null>`(
  select used_key.open_since from ${keyInUse} used_key)`

/** What keeps all rows from being sent while the breaker is open, as a requirement of each (waits-for.ts). */
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
