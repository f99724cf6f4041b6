import { type Kysely, sql } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'

/** A receiver that was not heard of for so long listens no longer, for all we know. Milliseconds. */
export const receiverSilentMs = 60_000

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
