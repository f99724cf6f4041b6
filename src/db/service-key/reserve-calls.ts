import { sql } from 'kysely'
import type { Database } from '../database.ts'

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
    set next_call_at = greatest(key.next_call_at, key.paused_until, clock_timestamp()) + ${length},
        used_at = clock_timestamp()
    where key.open_since is null
    returning (1000 * extract(epoch from next_call_at - ${length} - clock_timestamp()))::float8 as in_ms`.execute(db)
  return rows[0]?.in_ms ?? null
}

/** Lets no turn of a key begin for some time, whoever asks; a pause that lasts longer stays. */
export async function pauseCalls(db: Database, fingerprint: string, pauseMs: number): Promise<void> {
  await sql`
    update service_key
    set paused_until = greatest(paused_until, clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond')
    where fingerprint = ${fingerprint}`.execute(db)
}
