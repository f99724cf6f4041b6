import type { Queryable } from '../running-sandbox.ts'
import type { ClaimedDelivery } from './delivery-queue.ts'
import type { AfterAttempt } from './retry-ladder.ts'
import type { Attempt } from './send-delivery.ts'

/**
 * Notes an attempt and what becomes of the delivery, unless it was stopped meanwhile and the attempt failed. One that
 * was re-sent meanwhile is urgent: if the attempt failed it has another at once and, where it was the last, the ladder
 * begins again. Does nothing when the webhook was deleted.
 */
export async function noteAttempt(
  db: Queryable,
  delivery: Pick<ClaimedDelivery, 'id'>,
  noted: { at: Date; webhookTimestamp: number; attempt: Attempt; after: AfterAttempt },
): Promise<void> {
  const { attempt, after } = noted
  await db.query(
    `with delivery as (
       update sandbox.webhook_delivery set sending = false, held = false, urgent = urgent and $2 <> 'delivered',
         attempted = case when urgent and $2 = 'failed' then 0 else attempted + 1 end,
         status = case when $2 = 'delivered' or (status = 'queued' and not (urgent and $2 = 'failed')) then $2
                       else status end,
         next_attempt_at = case when urgent and $2 = 'failed' then next_attempt_at
                                when status = 'queued' then $3::timestamptz end
       where id = $1 returning id
     )
     insert into sandbox.webhook_attempt
       (delivery_id, at, webhook_timestamp, http_status, error, latency_ms, response_excerpt)
     select id, $4, $5, $6, $7, $8, $9 from delivery`,
    [
      delivery.id,
      after.status,
      after.nextAttemptAt === null ? null : new Date(after.nextAttemptAt),
      noted.at,
      noted.webhookTimestamp,
      attempt.httpStatus,
      attempt.error,
      attempt.latencyMs,
      attempt.responseExcerpt,
    ],
  )
}

/** The end of a task was sent: what was kept back until then is due. */
export async function releaseDelayed(
  db: Queryable,
  { webhookId, about }: Pick<ClaimedDelivery, 'webhookId' | 'about'>,
): Promise<void> {
  await db.query(
    `update sandbox.webhook_delivery set held = false, next_attempt_at = created_at
     where webhook_id = $1 and about = $2 and held and status = 'queued'`,
    [webhookId, about],
  )
}
