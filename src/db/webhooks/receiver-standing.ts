import { type Kysely, sql } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'

/**
 * Notes that a receiver listens. After a silence it begins again: nobody could be told of what ended meanwhile.
 */
export async function noteListening(db: Kysely<Schema>): Promise<void> {
  await sql`
    insert into webhook_receiver (since, heard_at) values (clock_timestamp(), clock_timestamp())
    on conflict (one) do update set
      since = case when webhook_receiver.heard_at < clock_timestamp() - ${receiverSilentMs}::float8 * interval '1 millisecond'
        then excluded.since else webhook_receiver.since end,
      trusted = webhook_receiver.trusted
        and webhook_receiver.heard_at >= clock_timestamp() - ${receiverSilentMs}::float8 * interval '1 millisecond',
      heard_at = excluded.heard_at`.execute(db)
}

/** Stores whether polls may come less often. */
export async function storeTrust(db: Kysely<Schema>, trusted: boolean): Promise<void> {
  await db.updateTable('webhook_receiver').set({ trusted }).execute()
}

type ReceiverStanding = { since: Date; heard_at: Date; trusted: boolean; listening: boolean }

/** Since when a receiver listens, and whether one was heard of a moment ago; undefined if none ever was. */
export async function receiverStanding(db: Kysely<Schema>): Promise<ReceiverStanding | undefined> {
  const { rows } = await sql<ReceiverStanding>`
    select since, heard_at, trusted,
      heard_at > clock_timestamp() - ${receiverSilentMs}::float8 * interval '1 millisecond' as listening
    from webhook_receiver`.execute(db)
  return rows[0]
}

/** A receiver that was not heard of for so long listens no longer, for all we know. Milliseconds. */
const receiverSilentMs = 60_000

/** Whether webhooks are on time at this moment, and whether one told that the task of this submission has ended. */
export async function webhookTrust(
  db: Kysely<Schema>,
  submissionId: number,
): Promise<{ onTime: boolean; told: boolean }> {
  const { rows } = await sql<{ onTime: boolean; told: boolean }>`
    select trusted and heard_at > clock_timestamp() - ${receiverSilentMs}::float8 * interval '1 millisecond'
      as "onTime",
      exists (select from webhook_event where submission_id = ${submissionId} and ends) as told
    from webhook_receiver`.execute(db)
  return rows[0] ?? { onTime: false, told: false }
}
