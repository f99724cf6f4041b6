import { randomUUID } from 'node:crypto'
import { RequestRefused } from '../request-refused.ts'
import type { Queryable, Sandbox } from '../running-sandbox.ts'
import { envelopeBytes, testEventContent } from './event-body.ts'

type DeliveryStatus = 'queued' | 'delivered' | 'failed' | 'stopped'

/** A line of the delivery log. */
export type LoggedDelivery = {
  id: string
  eventId: string
  type: string
  status: DeliveryStatus
  payload: unknown
  createdAt: string
  nextAttemptAt: string | null
  attempts: LoggedAttempt[]
  chaos: string[] | null
}

type LoggedAttempt = {
  at: string
  webhookTimestamp: number
  httpStatus: number | null
  error: string | null
  latencyMs: number
  responseExcerpt: string | null
}

type DeliveryRow = {
  id: string
  event_id: string
  type: string
  status: DeliveryStatus
  body: Buffer
  created_at: Date
  next_attempt_at: Date | null
  chaos: string[] | null
  attempts: AttemptRow[] | null
}

/** As Postgres writes it in JSON. */
type AttemptRow = {
  at: string
  webhook_timestamp: number
  http_status: number | null
  error: string | null
  latency_ms: number
  response_excerpt: string | null
}

/** The newest deliveries of a webhook, the newest first; with `before`, a delivery's id, those older than that one. */
export async function readDeliveries(
  db: Queryable,
  wanted: { webhookId: string; before: string | null; limit: number },
): Promise<LoggedDelivery[]> {
  const { rows } = await db.query<DeliveryRow>(
    `select id, event_id, type, status, body, created_at, next_attempt_at, chaos,
       (select json_agg(a order by a.id) from sandbox.webhook_attempt a where a.delivery_id = d.id) as attempts
     from sandbox.webhook_delivery d
     where webhook_id = $1
       and ($2::uuid is null or sequence < (select sequence from sandbox.webhook_delivery where id = $2))
     order by sequence desc limit $3`,
    [wanted.webhookId, wanted.before, wanted.limit],
  )
  return rows.map(describe)
}

/** Queues what the Test button sends, for at once. The dispatcher must be woken. */
export async function queueTest(
  { pool, contract, clock }: Sandbox,
  webhookId: string,
): Promise<{ deliveryId: string; eventId: string }> {
  const deliveryId = randomUUID()
  const eventId = randomUUID()
  const at = new Date(clock.now())
  const content = testEventContent(contract, eventId)
  await pool.query(
    `insert into sandbox.webhook_delivery
       (id, webhook_id, event_id, type, about, body, status, is_test, urgent, created_at, next_attempt_at)
     select $1, id, $2, $3, $4, $5, 'queued', true, true, $6, $6 from sandbox.webhook where id = $7`,
    [
      deliveryId,
      eventId,
      content.type,
      content.about,
      envelopeBytes(contract, { id: eventId, at, content }),
      at,
      webhookId,
    ],
  )
  return { deliveryId, eventId }
}

/**
 * Queues a delivery for at once. One that failed, or was stopped, begins the ladder again; one that waits for its next
 * attempt has it now, and goes on from there; one whose attempt is under way has another if that fails. The dispatcher
 * must be woken.
 * @throws {RequestRefused} 404 when the webhook has no such delivery; 409 when it was delivered, or the webhook is
 * disabled. Spec gap: what a re-send does is not shown beyond its name, docs/spec-gaps.md.
 */
export async function resendDelivery({ pool, clock }: Sandbox, webhookId: string, id: string): Promise<void> {
  const { rowCount } = await pool.query(
    // The lock waits for anyone who disables the webhook just now.
    `with webhook as (select id, enabled from sandbox.webhook where id = $2 for share)
     update sandbox.webhook_delivery d set
       attempted = case when d.status = 'queued' then d.attempted else 0 end,
       status = 'queued', urgent = true, held = false, next_attempt_at = $3
     from webhook w
     where d.id = $1 and d.webhook_id = w.id and d.status <> 'delivered' and (w.enabled or d.is_test)`,
    [id, webhookId, new Date(clock.now())],
  )
  if (rowCount === 1) return
  const { rows } = await pool.query<{ status: DeliveryStatus }>(
    'select status from sandbox.webhook_delivery where id = $1 and webhook_id = $2',
    [id, webhookId],
  )
  const found = rows[0]
  if (!found) throw new RequestRefused(404, 'delivery_not_found', `The webhook has no delivery "${id}".`)
  if (found.status === 'delivered') {
    throw new RequestRefused(409, 'delivery_not_resendable', `The delivery ${id} was delivered.`)
  }
  throw new RequestRefused(409, 'webhook_disabled', 'The webhook is disabled. Enable it first.')
}

function describe(row: DeliveryRow): LoggedDelivery {
  return {
    id: row.id,
    eventId: row.event_id,
    type: row.type,
    status: row.status,
    payload: JSON.parse(row.body.toString('utf8')),
    createdAt: row.created_at.toISOString(),
    nextAttemptAt: row.next_attempt_at?.toISOString() ?? null,
    attempts: (row.attempts ?? []).map((attempt) => ({
      at: new Date(attempt.at).toISOString(),
      webhookTimestamp: attempt.webhook_timestamp,
      httpStatus: attempt.http_status,
      error: attempt.error,
      latencyMs: attempt.latency_ms,
      responseExcerpt: attempt.response_excerpt,
    })),
    chaos: row.chaos,
  }
}
