import { z } from 'zod'
import { batchSizes } from '../../db/ledger/batch-size.ts'
import { newestTasks } from '../../db/nights/night-facts.ts'
import { newestNotifications, newestSearches } from '../../db/runs/newest-runs.ts'
import { deniedKeyInUse, keyFacts, skewInUse } from '../../db/service-key/service-key.ts'
import { endedTasks, eventCounts, receiverStanding, refusalCounts } from '../../db/webhooks/webhook-records.ts'
import {
  cachedDocuments,
  keptDocuments,
  newestReferenceChanges,
  referenceVersions,
  untakenReference,
} from '../../pipeline/reference/store-reference-data.ts'
import { searchKinds } from '../../pipeline/streams/kind-names.ts'
import { silenceWords } from '../../pipeline/webhook-score.ts'
import { count, cutAt, document, limit, moment, more, type Route, route } from '../route.ts'

/** Tasks by which the health of webhooks is judged, and the days of which refusals are counted. */
const tasksJudged = 200
const refusalDays = 7

export const serviceRoutes: readonly Route[] = [
  route({
    id: 'getService',
    method: 'GET',
    path: '/v1/service',
    summary: 'How the service stands to us: key and profile, clock, learned sizes, tasks, webhooks',
    access: 'read',
    query: z.strictObject({ limit }),
    answers: {
      200: z.object({
        base_url: z.string().nullable(),
        key: document.nullable(),
        key_refused: z.object({ since: moment, code: z.string().nullable(), reason: z.string().nullable() }).nullable(),
        clock: z.object({ low_ms: z.number(), high_ms: z.number(), measured_at: moment }).nullable(),
        request_sizes: z.array(z.looseObject({ kind: z.string(), rows: count, updated_at: moment })),
        tasks: z.array(
          z.object({
            submission_id: count,
            run_id: count,
            kind: z.string(),
            state: z.string(),
            correlation_id: z.string().nullable(),
            task_status: z.string().nullable(),
            rows: count,
            attempts: count,
            error_code: z.string().nullable(),
            error_message: z.string().nullable(),
            attempted_at: moment.nullable(),
            settled_at: moment.nullable(),
            overdue_since: moment.nullable(),
          }),
        ),
        webhooks: z.object({
          configured: z.boolean(),
          listening: z.boolean(),
          since: moment.nullable(),
          warning: z.string().nullable(),
          events: z.array(
            z.looseObject({ topic: z.string().nullable(), state: z.string(), events: count, last_at: moment }),
          ),
          refused: z.array(z.looseObject({ reason: z.string(), refused: count, last_at: moment })),
        }),
        reference_withheld: document.nullable(),
        reference_documents: z.array(
          z.object({ kind: z.string(), id: z.string(), name: z.string(), version: count, changed_at: moment }),
        ),
        reference_changes: z.array(
          z.object({
            version: count,
            kind: z.string(),
            document_name: z.string().nullable(),
            item: z.string().nullable(),
            item_name: z.string().nullable(),
            change: z.string(),
          }),
        ),
        more: z
          .object({ tasks: z.boolean(), reference_documents: z.boolean(), reference_changes: z.boolean() })
          .describe('Of which of these there are more than `limit`.'),
      }),
    },
    handle: async ({ db, deps }, { query }) => {
      const key = await deniedKeyInUse(db)
      const skew = await skewInUse(db)
      const receiver = await receiverStanding(db)
      const configured = deps.config.webhooks.secrets.length > 0
      const listening = receiver?.listening ?? false
      const tasks = cutAt(await newestTasks(db, query.limit + 1), query.limit)
      const documents = cutAt(await keptDocuments(db, query.limit + 1), query.limit)
      const changes = cutAt(await newestReferenceChanges(db, query.limit + 1), query.limit)
      const judged =
        configured && receiver !== undefined ? await endedTasks(db, tasksJudged, deps.config.webhooks.keepDays) : []
      return {
        base_url: deps.config.exchange.baseUrl,
        key: await keyFacts(db),
        key_refused: key === null ? null : { since: key.since, code: key.errorCode, reason: key.serviceMessage },
        clock: skew === null ? null : { low_ms: skew.lowMs, high_ms: skew.highMs, measured_at: skew.measuredAt },
        request_sizes: await batchSizes(db),
        tasks: tasks.rows,
        webhooks: {
          configured,
          listening,
          since: receiver?.since ?? null,
          warning: configured ? silenceWords(judged, listening) : null,
          events: await eventCounts(db, query.limit),
          refused: await refusalCounts(db, refusalDays, query.limit),
        },
        reference_withheld: await untakenReference(db),
        reference_documents: documents.rows,
        reference_changes: changes.rows,
        more: { tasks: tasks.more, reference_documents: documents.more, reference_changes: changes.more },
      }
    },
  }),
  route({
    id: 'getReference',
    method: 'GET',
    path: '/v1/reference',
    summary: 'What is kept of the service’s reference data, in which versions, and what was not taken',
    access: 'read',
    answers: {
      200: z.object({
        versions: z.array(document),
        documents: z.array(document),
        withheld: document.nullable(),
      }),
    },
    handle: async ({ db }) => ({
      versions: await referenceVersions(db),
      documents: await cachedDocuments(db),
      withheld: await untakenReference(db),
    }),
  }),
  route({
    id: 'listNotifications',
    method: 'GET',
    path: '/v1/notifications',
    summary: 'What people were told of runs, newest first, and what could not be delivered',
    access: 'read',
    query: z.strictObject({ limit }),
    answers: { 200: z.object({ notifications: z.array(document), more }) },
    handle: async ({ db }, { query }) => {
      const found = cutAt(await newestNotifications(db, query.limit + 1), query.limit)
      return { notifications: found.rows, more: found.more }
    },
  }),
]

export const searchRoutes: readonly Route[] = [
  route({
    id: 'listSearches',
    method: 'GET',
    path: '/v1/searches',
    summary: 'Every search as it went last: its task, its pages, what they held, and why nothing was removed',
    access: 'read',
    answers: {
      200: z.object({
        searches: z.array(
          z.object({
            kind: z.string(),
            name: z.string().describe('The name of its entry in `pull.searches`; empty for the calculator search.'),
            submission_id: count,
            run_id: count,
            state: z.string(),
            correlation_id: z.string().nullable(),
            task_status: z.string().nullable(),
            error_code: z.string().nullable(),
            planned_at: moment,
            settled_at: moment.nullable(),
            pages: count,
            loaded_pages: count,
            failed_pages: count,
            companies: count,
            calculators: count,
            documents: count,
            bytes: count,
            withheld: z.string().nullable(),
          }),
        ),
      }),
    },
    handle: async ({ db }) => ({ searches: await newestSearches(db, searchKinds) }),
  }),
]
