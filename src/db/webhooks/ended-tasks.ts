import { type Kysely, sql } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'

/** A task that ended while a receiver listened. */
export type EndedTask = {
  submission_id: number
  kind: string
  correlation_id: string
  /** When a poll found the end, or a look that a webhook asked for. */
  terminal_at: Date
  /** When the first event came that told of it; null: none did so far. */
  told_at: Date | null
  /** Milliseconds since the end was found. */
  since_ms: number
}

/** The newest tasks of ours that ended since a receiver listens, the newest first. */
export async function endedTasks(db: Kysely<Schema>, limit: number): Promise<EndedTask[]> {
  const { rows } = await sql<EndedTask>`
    select s.submission_id, s.kind, s.correlation_id, s.terminal_at,
      (select min(e.first_at) from webhook_event e where e.submission_id = s.submission_id and e.ends) as told_at,
      (1000 * extract(epoch from clock_timestamp() - s.terminal_at))::float8 as since_ms
    from submission s
    where s.correlation_id is not null and s.terminal_at > (select since from webhook_receiver)
    order by s.terminal_at desc limit ${limit}`.execute(db)
  return rows
}
