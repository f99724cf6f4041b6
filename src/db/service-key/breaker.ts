import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { storableText } from '../storable.ts'

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
