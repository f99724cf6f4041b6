import { randomUUID } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { Logger } from 'pino'
import { Webhook } from 'standardwebhooks'
import { expect, vi } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import type { WebhookEventTable } from '../../src/db/tables/service-tables.ts'
import type { SubmissionState } from '../../src/db/tables/submission-tables.ts'
import { startWebhooks } from '../../src/webhooks/start-webhooks.ts'
import { contract } from '../exchange/test-client.ts'
import { inspectedLogger, troubleTo } from '../helpers/leaks.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'

export const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
export const otherSecret = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const { names, webhookTopics: topics } = contract

/** An event as the service would write it. */
export type Written = { id: string; body: string }

export function bulkEvent(correlationId: string, topic: string = topics.success, status = 'Success'): Written {
  const { correlationId: correlation, ...fields } = names.bulkEvent
  return written(topic, {
    [correlation]: correlationId,
    [fields.taskKind]: 'of a kind',
    [fields.requestType]: null,
    [fields.status]: status,
    [fields.profileId]: 4711,
    [fields.apiKeyId]: randomUUID(),
  })
}

export function applicationEvent(applicationId: string, status: string | null, timestamp?: string): Written {
  const fields = names.applicationEvent
  const topic = status === null ? topics.applicationAnswersChanged : topics.applicationStatusChanged
  const data = { [fields.applicationId]: applicationId, [fields.status]: status, [fields.profileId]: 4711 }
  return written(topic, data, randomUUID(), timestamp)
}

export function testEvent(): Written {
  const id = randomUUID()
  const { correlationId, status, ...others } = names.bulkEvent
  const nulls = Object.fromEntries(Object.values(others).map((name) => [name, null]))
  return written(topics.test, { ...nulls, [correlationId]: id, [status]: 'Test' }, id)
}

export function written(
  topic: string,
  data: unknown,
  id: string = randomUUID(),
  timestamp = new Date().toISOString(),
): Written {
  const { id: idName, type, timestamp: at, data: dataName } = names.webhookEvent
  return { id, body: JSON.stringify({ [idName]: id, [type]: topic, [at]: timestamp, [dataName]: data }) }
}

type Delivery = {
  secret?: string
  /** Seconds that the sender's clock is ahead of ours. */
  aheadSeconds?: number
  /** Our clock. */
  now?: number
  headers?: Record<string, string>
  /** What is sent in place of what was signed. */
  body?: string | Uint8Array<ArrayBuffer>
  path?: string
  method?: string
}

/** Signs an event with the public package and sends it. @returns the status of the answer. */
export async function deliver(url: string, event: Written, how: Delivery = {}): Promise<number> {
  const at = new Date(Math.floor((how.now ?? Date.now()) / 1000) * 1000 + (how.aheadSeconds ?? 0) * 1000)
  const { webhookHeaders: header } = names
  const response = await fetch(`${url}${how.path ?? '/webhooks'}`, {
    method: how.method ?? 'POST',
    headers: {
      'content-type': 'application/json',
      [header.id]: event.id,
      [header.timestamp]: String(at.getTime() / 1000),
      [header.signature]: new Webhook(how.secret ?? secret).sign(event.id, at, event.body),
      ...how.headers,
    },
    ...(how.method !== 'GET' && { body: how.body ?? event.body }),
  })
  expect(await response.text()).toBe('')
  return response.status
}

export type InboxWorld = {
  ferry: Ferry
  /** A receiver with the secret, or with other settings, on a free port; closed with the test. */
  listen(
    changes?: Record<string, unknown>,
    now?: () => number,
    logger?: Logger,
  ): Promise<{ url: string; close(): Promise<void> }>
  /** Closes every receiver. */
  stopListening(): Promise<void>
  /** A request of ours in a run that is under way. */
  submission(state: SubmissionState, correlationId?: string | null): Promise<number>
  /** Stored events, once none of them is open. */
  done(count: number): Promise<Stored[]>
  stored(): Promise<Stored[]>
  clear(): Promise<void>
  close(): Promise<void>
}

type Stored = Pick<
  Selectable<WebhookEventTable>,
  'event_id' | 'state' | 'effect' | 'topic' | 'payload' | 'submission_id' | 'status' | 'deliveries'
>

/** A receiver on a real database; nobody works off the looks that it asks for. */
export async function openInbox(): Promise<InboxWorld> {
  const ferry = await openFerry()
  const { db } = ferry.ledger
  let runId = await ferry.ledger.startRun()
  const open: { close(): Promise<void> }[] = []
  const stored = () =>
    db
      .selectFrom('webhook_event')
      .select(['event_id', 'state', 'effect', 'topic', 'payload', 'submission_id', 'status', 'deliveries'])
      .orderBy('seq')
      .execute()
  const stopListening = async () => {
    for (const listener of open.splice(0)) await listener.close()
  }
  return {
    ferry,
    stored,
    listen: async (changes = {}, now = Date.now, logger = inspectedLogger()) => {
      const { webhooks: config } = settings.parse({ webhooks: { secrets: [secret], port: 0, ...changes } })
      const listener = await startWebhooks(
        {
          config,
          contract,
          looks: ferry.engine.looks,
          logger,
          tellTrouble: troubleTo(logger),
          now: () => new Date(now()),
        },
        ferry.ledger.url,
      )
      let closing: Promise<void> | undefined
      const close = () => {
        closing ??= listener.close()
        return closing
      }
      open.push({ close })
      return { url: listener.url, close }
    },
    stopListening,
    submission: async (state, correlationId = null) => {
      const { submission_id } = await db
        .insertInto('submission')
        .values({ run_id: runId, kind: 'framework_answers', state, row_count: 1, correlation_id: correlationId })
        .returning('submission_id')
        .executeTakeFirstOrThrow()
      return submission_id
    },
    done: (count) =>
      vi.waitFor(
        async () => {
          const events = await stored()
          expect(events.filter(({ state }) => state === 'done')).toHaveLength(count)
          return events
        },
        { timeout: 60_000, interval: 20 },
      ),
    clear: async () => {
      await stopListening()
      await db.deleteFrom('webhook_event').execute()
      await db.deleteFrom('webhook_refusal').execute()
      await db.deleteFrom('webhook_receiver').execute()
      await ferry.clear()
      runId = await ferry.ledger.startRun()
    },
    close: async () => {
      await stopListening()
      await ferry.close()
    },
  }
}
