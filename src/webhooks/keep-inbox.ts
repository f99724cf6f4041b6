import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Logger } from 'pino'
import type { Config } from '../config/schema.ts'
import { storableText } from '../db/copy-text.ts'
import type { Database } from '../db/database.ts'
import type { Schema } from '../db/tables/database-schema.ts'
import type { WebhookEffect } from '../db/tables/service-tables.ts'
import type { SubmissionState } from '../db/tables/submission-tables.ts'
import { unfinishedStates } from '../db/tables/submission-tables.ts'
import { endedTasks, noteListening, receiverStanding, storeTrust } from '../db/webhooks/webhook-records.ts'
import type { Contract } from '../exchange/contract.ts'
import { taskKey, taskSpellings } from '../exchange/task.ts'
import { decodeWebhookEvent, type WebhookEvent } from '../exchange/webhook-signature.ts'
import type { Deps, Looks } from '../pipeline/deps.ts'
import { newestTold } from '../pipeline/webhook-score.ts'
import { areWebhooksOnTime, toldTasksJudged, useOfEvent } from '../pipeline/when-to-look.ts'
import type { RefusalCounter } from './take-delivery.ts'

/** What a receiver works with. */
export type WebhookDeps = {
  config: Config['webhooks']
  contract: Contract
  looks: Looks
  logger: Logger
  tellTrouble: Deps['tellTrouble']
  /** The database's clock: deliveries are at most five minutes off it, either way. */
  now: () => Date
  readClock?: () => Promise<void>
}

/** The same with what it has made for itself. */
type InboxDeps = WebhookDeps & { db: Database; refusals: RefusalCounter }

type Inbox = {
  start(): void
  /** There is a new event. */
  wake(): void
  /** Ends what is under way, and no more. */
  close(): Promise<void>
}

/** How often events that wait for the answer to a request are looked at; many less often. Milliseconds. */
const waitingMs = 250
const perWaitingMs = 5
const longestWaitingMs = 60_000

/** How often the rest is looked after: events that a process left behind, the score, the clock. Milliseconds. */
const roundMs = 5_000

/** Events that come together are worked off in one transaction. Milliseconds. */
const gatherMs = 50

/** After the database did not answer. Milliseconds. */
const afterTroubleMs = 1_000

/** Topics that are warned of, in one process: anyone who knows the secret could send any number. */
const topicsTold = 100

/** Works events off: new ones when they come, waiting ones until their request is answered. */
export function keepInbox(deps: InboxDeps): Inbox {
  const { logger } = deps
  const stopping = new AbortController()
  let woken = new AbortController()
  let working = Promise.resolve()
  const told = new Set<string>()

  const tell = (topic: string | null, effect: string) => {
    const code = `webhook_${effect}`
    if (told.has(`${code} ${topic}`) || told.size >= topicsTold) return
    told.add(`${code} ${topic}`)
    logger.warn({ topic, code }, code)
  }
  /** @returns how many wait still. */
  const workOff = async (state: 'received' | 'waiting'): Promise<number> => {
    let waiting = 0
    for (let after = 0, more = true; more && !stopping.signal.aborted; ) {
      const worked = await workInbox(deps, state, after)
      for (const { topic, effect } of worked.events) {
        if (effect === null) waiting += 1
        else logger.debug({ topic, effect }, 'webhook_event')
        if (effect === 'unknown_topic' || effect === 'unreadable') tell(topic, effect)
      }
      more = worked.more
      after = worked.lastSeq
    }
    return waiting
  }
  const work = async (): Promise<void> => {
    const score = keepScore(deps)
    let roundAt = 0
    let waitingAt = 0
    let failing = false
    while (!stopping.signal.aborted) {
      woken = new AbortController()
      const now = performance.now()
      const inRound = now >= roundAt
      if (inRound) roundAt = now + roundMs
      let pauseMs = 0
      try {
        if (inRound) await score()
        if ((await workOff('received')) > 0) waitingAt = Math.min(waitingAt, now + waitingMs)
        if (now >= waitingAt) {
          const waiting = await workOff('waiting')
          const soon = Math.min(waitingMs + perWaitingMs * waiting, longestWaitingMs)
          // None here says nothing of what another daemon finds waiting.
          waitingAt = performance.now() + (waiting > 0 ? soon : roundMs)
        }
        failing = false
      } catch (error) {
        // Said once: a database that is down is said of elsewhere, and is tried again in a moment.
        if (!failing) logger.warn({ error: (error as Error).message }, 'webhook_events_not_worked_off')
        failing = true
        pauseMs = afterTroubleMs
      }
      if (pauseMs === 0)
        await pause(Math.min(roundAt, waitingAt) - performance.now(), AbortSignal.any([stopping.signal, woken.signal]))
      await pause(Math.max(pauseMs, gatherMs), stopping.signal)
    }
  }
  return {
    start: () => {
      working = work()
    },
    wake: () => {
      // Without a reason of its own each call would make an error with its stack.
      if (!woken.signal.aborted) woken.abort('woken')
    },
    close: async () => {
      stopping.abort()
      await working
      await deps.refusals.flush(deps.db).catch(() => {})
    },
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await delay(ms, undefined, { signal }).catch(() => {})
}

/** More tasks than are judged: the newest may yet be told of on time. */
const tasksRead = 10 * toldTasksJudged

/**
 * What a receiver does every few seconds: says that it listens, counts what it refused, and decides whether webhooks
 * are on time, so that polls may come less often.
 */
function keepScore({ db, config, logger, refusals, readClock }: InboxDeps): () => Promise<void> {
  return async () => {
    await readClock?.()
    await noteListening(db)
    const refused = await refusals.flush(db)
    if (Object.keys(refused).length > 0) logger.warn({ refused }, 'webhooks_refused')
    const told = newestTold(await endedTasks(db, tasksRead, config.keepDays))
    const onTime = areWebhooksOnTime(told)
    if ((await receiverStanding(db))?.trusted !== onTime) {
      await storeTrust(db, onTime)
      logger.info(told, onTime ? 'webhooks_on_time' : 'webhooks_not_on_time')
    }
  }
}

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
async function workInbox(
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
