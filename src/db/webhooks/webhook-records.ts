import { type Kysely, sql } from 'kysely'
import { isOfDestination } from '../runs/newest-runs.ts'
import type { Schema } from '../tables/database-schema.ts'

/** Events alike in what they are about and in what they did. */
type EventCount = {
  topic: string | null
  state: string
  effect: string | null
  events: number
  deliveries: number
  last_at: Date
}

/** How many events are kept, by topic, state and effect. @param limit null: all of them. */
export async function eventCounts(db: Kysely<Schema>, limit: number | null = null): Promise<EventCount[]> {
  const { rows } = await sql<EventCount>`
    select topic, state, effect, count(*) as events, sum(deliveries) as deliveries, max(last_at) as last_at
    from webhook_event group by topic, state, effect order by topic nulls last, state, effect nulls last
    limit ${limit}`.execute(db)
  return rows
}

type RefusalCount = { reason: string; refused: number; last_at: Date }

/** How many deliveries were not taken in the last days, and why. @param limit null: all reasons. */
export async function refusalCounts(
  db: Kysely<Schema>,
  days: number,
  limit: number | null = null,
): Promise<RefusalCount[]> {
  const { rows } = await sql<RefusalCount>`
    select reason, sum(refused)::bigint as refused, max(last_at) as last_at from webhook_refusal
    where day > current_date - ${days}::int group by reason order by refused desc, reason
    limit ${limit}`.execute(db)
  return rows
}

/** How an application stands by what webhooks told of it. */
type Application = {
  application_id: string
  profile_id: number | null
  status: string | null
  status_at: Date | null
  answers_changed_at: Date | null
  changed_at: Date | null
  events: number
}

/** The applications that changed last, the newest first. */
export async function newestApplications(
  db: Kysely<Schema>,
  { status, limit }: { status?: string | undefined; limit: number },
): Promise<Application[]> {
  const { rows } = await sql<Application>`
    select * from applications where ${status ?? null}::text is null or status = ${status ?? null}
    order by changed_at desc nulls last, application_id limit ${limit}`.execute(db)
  return rows
}

type ApplicationEvent = {
  event_id: string
  change: 'status' | 'answers'
  status: string | null
  recorded_at: Date | null
  first_at: Date
}

/** What was told of one application, the newest first. */
export async function eventsOfApplication(
  db: Kysely<Schema>,
  applicationId: string,
  limit: number,
): Promise<ApplicationEvent[]> {
  const { rows } = await sql<ApplicationEvent>`
    select event_id, change, status, recorded_at, first_at from application_events
    where application_id = ${applicationId}
    order by recorded_at desc nulls last, first_at desc limit ${limit}`.execute(db)
  return rows
}

/** A receiver that was not heard of for so long listens no longer, for all we know. Milliseconds. */
const receiverSilentMs = 60_000

/** Whether a receiver was heard of a moment ago. What lies ahead was written by a clock that was put back since. */
const heardOfLately = sql<boolean>`
  abs(extract(epoch from clock_timestamp() - webhook_receiver.heard_at)) * 1000 < ${receiverSilentMs}::float8`

/**
 * Notes that a receiver listens. After a silence it begins again: nobody could be told of what ended meanwhile. It
 * never begins later than now, which it would for as long as the clock was ahead.
 */
export async function noteListening(db: Kysely<Schema>): Promise<void> {
  await sql`
    insert into webhook_receiver (since, heard_at) values (clock_timestamp(), clock_timestamp())
    on conflict (one) do update set
      since = case when ${heardOfLately} then least(webhook_receiver.since, excluded.since) else excluded.since end,
      trusted = webhook_receiver.trusted and ${heardOfLately},
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
    select since, heard_at, trusted, ${heardOfLately} as listening from webhook_receiver`.execute(db)
  return rows[0]
}

/** Whether webhooks are on time at this moment, and whether one told that the task of this submission has ended. */
export async function webhookTrust(
  db: Kysely<Schema>,
  submissionId: number,
): Promise<{ onTime: boolean; told: boolean }> {
  const { rows } = await sql<{ onTime: boolean; told: boolean }>`
    select trusted and ${heardOfLately} as "onTime",
      exists (select from webhook_event where submission_id = ${submissionId} and ends) as told
    from webhook_receiver`.execute(db)
  return rows[0] ?? { onTime: false, told: false }
}

/** A task that was sent and ended while a receiver listened. */
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

/**
 * The newest tasks of ours at the destination in use that were sent and ended since a receiver listens, the newest
 * first. One that was sent before may have ended when nobody could be told, though a look found that later. Of older
 * ones the events may be gone, which are removed by when they came: up to a night before the look that found the end.
 * @param keepDays `webhooks.keepDays`, at least 2.
 */
export async function endedTasks(db: Kysely<Schema>, limit: number, keepDays: number): Promise<EndedTask[]> {
  const { rows } = await sql<EndedTask>`
    select submission_id, kind, correlation_id, terminal_at,
      (
        select min(e.first_at) from webhook_event e where e.submission_id = submission.submission_id and e.ends
      ) as told_at,
      (1000 * extract(epoch from clock_timestamp() - terminal_at))::float8 as since_ms
    from submission
    where correlation_id is not null and coalesce(attempted_at, planned_at) > (select since from webhook_receiver)
      and terminal_at > clock_timestamp() - ${keepDays - 1}::int * interval '1 day' and ${isOfDestination}
    order by terminal_at desc limit ${limit}`.execute(db)
  return rows
}
