import { type Kysely, sql } from 'kysely'
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
