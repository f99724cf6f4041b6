import { sql } from 'kysely'
import type { Database } from '../database.ts'

/** What the connections of the queue are called in pg_stat_activity. */
const queue = 'nightferry queue'

/**
 * What the connections of a process's queue are called: with the fingerprint of its key if it works off looks, so that
 * others know who else could do what they cannot. Below the 63 bytes that PostgreSQL keeps.
 */
export function queueName(fingerprint: string | null): string {
  return fingerprint === null ? queue : `${queue} ${fingerprint}`
}

/** Connections of processes that carry rows, or want to. */
export async function connectionsAtWork(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and starts_with(application_name, ${queue})`.execute(db)
  return rows[0]?.count ?? 0
}

/** The keys with which processes are at work. It names no column like one of service_key. */
const keyAtWork = sql`
  select substr(application_name, length(${queueName('')}::text) + 1) as key_at_work, min(client_addr) as address
  from pg_stat_activity
  where datname = current_database() and starts_with(application_name, ${queueName('')})
  group by key_at_work`

/**
 * Whether a process is at work with another key than this one that the service may accept: one that it has not refused,
 * and that is not known as a key of another destination alone. It may not have been used yet.
 */
export async function isOtherKeyAtWork(db: Database, fingerprint: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (
      select from (${keyAtWork}) other
      where key_at_work <> ${fingerprint}
        and not exists (select from service_key where fingerprint = key_at_work and open_since is not null)
        and coalesce((
          select bool_or(destination_id = destination_in_use()) from destination_key
          where fingerprint = key_at_work), true)
    ) as found`.execute(db)
  return rows[0]?.found ?? false
}

type RefusedAtWork = { fingerprint: string; since: Date; address: string | null }

/** Keys that the service refuses and processes are at work with, and from where one of these is connected. */
export async function refusedKeysAtWork(db: Database): Promise<RefusedAtWork[]> {
  const { rows } = await sql<RefusedAtWork>`
    select fingerprint, open_since as since, host(address) as address
    from (${keyAtWork}) at_work join service_key on fingerprint = key_at_work
    where open_since is not null order by open_since, fingerprint`.execute(db)
  return rows
}
