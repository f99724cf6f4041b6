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
