import { sql } from 'kysely'
import type { Database } from '../database.ts'

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
