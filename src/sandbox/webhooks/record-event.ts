import { randomUUID } from 'node:crypto'
import type { Queryable, Sandbox } from '../running-sandbox.ts'
import { deliveryFate, lateByMs } from './delivery-chaos.ts'
import {
  type ApplicationEvent,
  applicationEventContent,
  type EventContent,
  envelopeBytes,
  type TaskEvent,
  taskEventContent,
} from './event-body.ts'

type Recorder = Pick<Sandbox, 'contract' | 'clock' | 'chaos'>
type Recorded = { profileId: number; content: EventContent; endsTask: boolean; folds: boolean }

/**
 * Records that tasks reached a status: a delivery for every webhook of their profiles that is enabled and subscribed
 * at this moment. Call it with the client of the transaction that changed the status.
 * @returns whether something is to be delivered at once: wake the dispatcher after the commit.
 */
export async function recordTaskEvents(
  db: Queryable,
  sandbox: Recorder,
  events: readonly TaskEvent[],
): Promise<{ urgent: boolean }> {
  return record(
    db,
    sandbox,
    events.map((event) => ({
      profileId: event.profileId,
      content: taskEventContent(sandbox.contract, event),
      endsTask: !inFlight.has(event.status),
      folds: false,
    })),
  )
}

const inFlight = new Set(['pending', 'scheduled', 'inProgress'])

/**
 * Records that an application moved, for the webhooks of the profile that owns it. A change of answers folds into a
 * delivery about the same application's answers that still waits at that webhook. Call it with the client of the
 * transaction that made the change.
 */
export async function recordApplicationEvent(db: Queryable, sandbox: Recorder, event: ApplicationEvent): Promise<void> {
  const { profileId, change } = event
  const content = applicationEventContent(sandbox.contract, event)
  await record(db, sandbox, [{ profileId, content, endsTask: true, folds: change === 'answers' }])
}

async function record(db: Queryable, sandbox: Recorder, events: readonly Recorded[]): Promise<{ urgent: boolean }> {
  if (events.length === 0) return { urgent: false }
  // The lock keeps anyone who disables or deletes the webhook waiting until this transaction has ended.
  const { rows: webhooks } = await db.query<{ id: string; profile_id: number; topics: string[] }>(
    `select id, profile_id, topics from sandbox.webhook
     where enabled and profile_id = any($1) and topics && $2 order by created_at, id for share`,
    [[...new Set(events.map((event) => event.profileId))], [...new Set(events.map((event) => event.content.type))]],
  )
  if (webhooks.length === 0) return { urgent: false }
  const at = new Date(sandbox.clock.now())
  const deliveries: Delivery[] = []
  for (const { profileId, content, endsTask, folds } of events) {
    const id = randomUUID()
    const body = envelopeBytes(sandbox.contract, { id, at, content })
    for (const webhook of webhooks) {
      if (webhook.profile_id !== profileId || !webhook.topics.includes(content.type)) continue
      if (folds && (await isWaiting(db, webhook.id, content))) continue
      deliveries.push(newDelivery(sandbox, { webhookId: webhook.id, eventId: id, content, body, at, endsTask }))
    }
  }
  await insertDeliveries(db, deliveries)
  return { urgent: deliveries.some((delivery) => delivery.urgent) }
}

/** Locks what it finds, so that no attempt begins before the change that folds into it can be read. */
async function isWaiting(db: Queryable, webhookId: string, { type, about }: EventContent): Promise<boolean> {
  const { rows } = await db.query(
    `select 1 from sandbox.webhook_delivery
     where webhook_id = $1 and about = $2 and type = $3 and status = 'queued' and not sending
     order by sequence for update`,
    [webhookId, about, type],
  )
  return rows.length > 0
}

type Delivery = ReturnType<typeof newDelivery>

function newDelivery(
  { chaos }: Recorder,
  event: { webhookId: string; eventId: string; content: EventContent; body: Buffer; at: Date; endsTask: boolean },
) {
  const fate = deliveryFate(chaos)
  const held = fate.reordered && !event.endsTask
  const waitMs = fate.late ? lateByMs : held ? delayedForMs : 0
  return {
    id: randomUUID(),
    webhook_id: event.webhookId,
    event_id: event.eventId,
    type: event.content.type,
    about: event.content.about,
    body: `\\x${event.body.toString('hex')}`,
    status: fate.lost ? 'stopped' : 'queued',
    urgent: fate.early,
    held,
    created_at: event.at,
    next_attempt_at: fate.lost ? null : new Date(event.at.getTime() + waitMs),
    chaos: fate.struck,
  }
}

/** A reordered in-flight event waits for the end of its task, but no longer: a task may never end. */
const delayedForMs = 60 * 60 * 1000

/** One statement for any number: a dispatcher's look can move thousands of tasks at once. */
async function insertDeliveries(db: Queryable, deliveries: readonly Delivery[]): Promise<void> {
  if (deliveries.length === 0) return
  await db.query(
    `insert into sandbox.webhook_delivery
       (id, webhook_id, event_id, type, about, body, status, urgent, held, created_at, next_attempt_at, chaos)
     select id, webhook_id, event_id, type, about, body, status, urgent, held, created_at, next_attempt_at, chaos
     from jsonb_populate_recordset(null::sandbox.webhook_delivery, $1::jsonb) with ordinality as new
       order by ordinality`,
    [JSON.stringify(deliveries)],
  )
}
