import type { Queryable } from '../running-sandbox.ts'
import { deliveryChaos } from './delivery-chaos.ts'

/** A delivery that an attempt is made of, with what its webhook says at this moment. */
export type ClaimedDelivery = {
  id: string
  webhookId: string
  eventId: string
  type: string
  about: string
  body: Buffer
  isTest: boolean
  attempted: number
  doubled: boolean
  url: string
  header: { name: string; value: string } | null
  secrets: string[]
}

/** What is due: everything whose moment came until `until`, or only what does not wait for a dispatch. */
export type Due = { until: Date; urgentOnly: boolean }

/** The webhooks that have something due, without those in `except`. */
export async function webhooksWithDue(db: Queryable, due: Due, except: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ webhook_id: string }>(
    `select distinct webhook_id from sandbox.webhook_delivery
     where status = 'queued' and not sending and (urgent or (not $2 and next_attempt_at <= $1))
       and webhook_id <> all($3)`,
    [due.until, due.urgentOnly, except],
  )
  return rows.map((row) => row.webhook_id)
}

/**
 * Takes up to `limit` due deliveries of a webhook. What chaos reorders is taken only when it is asked for, the last
 * first. What is urgent from here on was re-sent during the attempt.
 */
export async function claimDeliveries(
  db: Queryable,
  wanted: Due & { webhookId: string; reordered: boolean; limit: number; now: Date },
): Promise<ClaimedDelivery[]> {
  const { rows } = await db.query<ClaimedRow>(
    `with due as (
       select d.id, d.sequence from sandbox.webhook_delivery d join sandbox.webhook w on w.id = d.webhook_id
       where d.webhook_id = $1 and d.status = 'queued' and not d.sending and (w.enabled or d.is_test)
         and (d.urgent or (not $3 and d.next_attempt_at <= $2))
         and ($5 = any(coalesce(d.chaos, '{}'))) = $4
       order by case when $4 then -d.sequence else d.sequence end limit $6 for update of d
     ), claimed as (
       update sandbox.webhook_delivery d set sending = true, urgent = false from due where d.id = due.id
       returning d.*
     )
     select c.id, c.webhook_id, c.event_id, c.type, c.about, c.body, c.is_test, c.attempted, c.chaos,
       w.url, w.header_name, w.header_value, w.secret,
       case when w.previous_secret_until > $7 then w.previous_secret end as previous_secret
     from claimed c join sandbox.webhook w on w.id = c.webhook_id
     order by case when $4 then -c.sequence else c.sequence end`,
    [
      wanted.webhookId,
      wanted.until,
      wanted.urgentOnly,
      wanted.reordered,
      deliveryChaos.reordered,
      wanted.limit,
      wanted.now,
    ],
  )
  return rows.map(asClaimed)
}

/** Whether a claimed delivery is still to be sent: its webhook was neither disabled nor deleted since. */
export async function isStillQueued(db: Queryable, id: string): Promise<boolean> {
  const { rows } = await db.query<{ status: string }>(
    `update sandbox.webhook_delivery set sending = status = 'queued' where id = $1 returning status`,
    [id],
  )
  return rows[0]?.status === 'queued'
}

/** Attempts that ended without a note, because the process or the database did, are due again. */
export async function recoverDeliveries(db: Queryable, except: readonly string[]): Promise<void> {
  await db.query('update sandbox.webhook_delivery set sending = false where sending and webhook_id <> all($1)', [
    except,
  ])
}

/** How many deliveries one step removes: each takes its attempts along. */
const removedAtOnce = 1000

/** Forgets what was recorded before `before`, but for what is still to be sent: the clock may have leapt over that. */
export async function forgetDeliveries(db: Queryable, before: Date): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      `delete from sandbox.webhook_delivery where id in (
         select id from sandbox.webhook_delivery where created_at < $1 and status <> 'queued' and not sending
           order by created_at limit $2)`,
      [before, removedAtOnce],
    )
    if ((rowCount ?? 0) < removedAtOnce) return
  }
}

type ClaimedRow = {
  id: string
  webhook_id: string
  event_id: string
  type: string
  about: string
  body: Buffer
  is_test: boolean
  attempted: number
  chaos: string[] | null
  url: string
  header_name: string | null
  header_value: string | null
  secret: string
  previous_secret: string | null
}

function asClaimed(row: ClaimedRow): ClaimedDelivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    type: row.type,
    about: row.about,
    body: row.body,
    isTest: row.is_test,
    attempted: row.attempted,
    doubled: row.chaos?.includes(deliveryChaos.doubled) ?? false,
    url: row.url,
    header: row.header_name === null ? null : { name: row.header_name, value: row.header_value ?? '' },
    secrets: row.previous_secret === null ? [row.secret] : [row.secret, row.previous_secret],
  }
}
