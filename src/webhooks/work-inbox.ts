import { type Kysely, sql, type Transaction } from 'kysely'
import { storableText } from '../db/copy-text.ts'
import type { Schema } from '../db/tables/database-schema.ts'
import type { WebhookEffect } from '../db/tables/service-tables.ts'
import type { SubmissionState } from '../db/tables/submission-tables.ts'
import type { Contract } from '../exchange/contract.ts'
import { taskKey, taskSpellings } from '../exchange/task.ts'
import { decodeWebhookEvent, type WebhookEvent } from '../exchange/webhook-event.ts'
import type { Looks } from '../pipeline/deps.ts'
import { unfinishedStates } from '../pipeline/push/submission-state.ts'
import { useOfEvent } from '../pipeline/when-to-look.ts'

/** Events of one transaction. */
const batchSize = 500

type Taken = { event_id: string; seq: number; payload: string }

/** What became of one batch. `more`: there may be others of this state. */
type Worked = { events: { topic: string | null; effect: WebhookEffect | null }[]; more: boolean; lastSeq: number }

/**
 * Gives each of the oldest open events its effect, once: what it did is committed with it, and so is the look that it
 * asks for. Several daemons share the work.
 * @param state `received`: new ones. `waiting`: those whose task was of no request so far.
 * @param afterSeq those that came before are not looked at.
 */
export async function workInbox(
  deps: { db: Kysely<Schema>; contract: Contract; looks: Looks },
  state: 'received' | 'waiting',
  afterSeq = 0,
): Promise<Worked> {
  return await deps.db.transaction().execute(async (trx) => {
    const taken = await trx
      .selectFrom('webhook_event')
      .select(['event_id', 'seq', 'payload'])
      .where('state', '=', state)
      .where('seq', '>', afterSeq)
      .orderBy('seq')
      .limit(batchSize)
      .forUpdate()
      .skipLocked()
      .execute()
    const read = taken.map((event) => ({
      ...event,
      told: decodeWebhookEvent(deps.contract, event.event_id, event.payload),
    }))
    const tasks = await namedTasks(trx, read)
    const judged = read.map((event) => ({ ...event, ...judge(event.told, tasks) }))
    // One that goes on waiting stands as it is: it is looked at again soon.
    await storeEffects(trx, state === 'waiting' ? judged.filter(({ effect }) => effect !== null) : judged)
    const looks = judged.flatMap(({ effect, submissionId }) =>
      effect === 'look' && submissionId !== null ? [submissionId] : [],
    )
    await deps.looks.atSubmissions(trx, [...new Set(looks)])
    return {
      events: judged.map(({ told, effect }) => ({ topic: told.topic, effect })),
      more: taken.length === batchSize,
      lastSeq: taken.at(-1)?.seq ?? afterSeq,
    }
  })
}

type Named = { submission_id: number; correlation_id: string; state: SubmissionState; running: boolean }
type Tasks = { byId: ReadonlyMap<string, Named>; mayBe: boolean }

/**
 * Our requests that became the named tasks, and whether there is one whose answer is on its way or lost, at the
 * destination in use: what waits at another waits until that is in use again. Both from one snapshot: a request is
 * `sending` before it is sent, and its correlation id takes the place of that state.
 */
async function namedTasks(trx: Transaction<Schema>, events: readonly { told: WebhookEvent }[]): Promise<Tasks> {
  const ids = events.flatMap(({ told }) =>
    told.what === 'bulk' ? taskSpellings(storableText(told.correlationId)) : [],
  )
  if (ids.length === 0) return { byId: new Map(), mayBe: false }
  const { rows } = await sql<Named & { mayBe: boolean }>`
    select s.submission_id, s.correlation_id, s.state, r.state = 'running' as running, open."mayBe"
    from (select exists (
      select from submission join run using (run_id)
      where submission.state in ('sending', 'uncertain') and destination_id = destination_in_use()) as "mayBe") open
    left join (submission s join run r using (run_id)) on s.correlation_id = any(${[...new Set(ids)]}::text[])`.execute(
    trx,
  )
  const byId = new Map(rows.flatMap((row) => (row.correlation_id === null ? [] : [[key(row.correlation_id), row]])))
  return { byId, mayBe: rows[0]?.mayBe ?? false }
}

function key(id: string): string {
  return taskKey(storableText(id))
}

/** What an event does; null: it waits. Pure. */
function judge(told: WebhookEvent, tasks: Tasks): { effect: WebhookEffect | null; submissionId: number | null } {
  if (told.what === 'application') return { effect: 'kept', submissionId: null }
  if (told.what !== 'bulk') return { effect: told.what, submissionId: null }
  const task = tasks.byId.get(key(told.correlationId))
  if (task === undefined) {
    const use = useOfEvent(told.ends, { ours: false, mayBe: tasks.mayBe })
    return { effect: use === 'wait' ? null : use, submissionId: null }
  }
  const ended = task.state === 'terminal' || !unfinishedStates.includes(task.state)
  const use = useOfEvent(told.ends, { ours: true, ended, running: task.running })
  return { effect: use === 'wait' ? null : use, submissionId: task.submission_id }
}

async function storeEffects(
  trx: Transaction<Schema>,
  judged: readonly (Taken & { told: WebhookEvent; effect: WebhookEffect | null; submissionId: number | null })[],
): Promise<void> {
  if (judged.length === 0) return
  const lines = judged.map(({ event_id, told, effect, submissionId }) => ({
    event_id,
    effect,
    submission_id: submissionId,
    ends: told.what === 'bulk' && told.ends,
    ...columnsOf(told),
  }))
  await sql`
    update webhook_event e
    set state = case when d.effect is null then 'waiting' else 'done' end, effect = d.effect,
      processed_at = case when d.effect is null then null else clock_timestamp() end,
      topic = d.topic, ends = d.ends, correlation_id = d.correlation_id, submission_id = d.submission_id,
      application_id = d.application_id, status = d.status, profile_id = d.profile_id, api_key_id = d.api_key_id,
      recorded_at = d.recorded_at
    from jsonb_to_recordset(${JSON.stringify(lines)}::jsonb) as d (
      event_id text, effect text, submission_id bigint, ends boolean, topic text, correlation_id text,
      application_id text, status text, profile_id bigint, api_key_id text, recorded_at timestamptz)
    where e.event_id = d.event_id`.execute(trx)
}

/** What an event says, as columns can keep it. */
function columnsOf(told: WebhookEvent) {
  const text = (value: string | null) => (value === null ? null : storableText(value))
  const bulk = told.what === 'bulk' ? told : null
  const application = told.what === 'application' ? told : null
  const recordedAt = told.what === 'unreadable' ? null : told.recordedAt
  return {
    topic: text(told.topic),
    correlation_id: text(bulk?.correlationId ?? null),
    application_id: text(application?.applicationId ?? null),
    status: text(bulk?.status ?? application?.status ?? null),
    profile_id: bulk?.profileId ?? application?.profileId ?? null,
    api_key_id: text(bulk?.apiKeyId ?? null),
    recorded_at: recordedAt !== null && isPlausible(recordedAt) ? recordedAt.toISOString() : null,
  }
}

/** A year of more than four digits is spelt in a way that Postgres does not read. */
function isPlausible(moment: Date): boolean {
  const year = moment.getUTCFullYear()
  return year >= 1 && year <= 9999
}
