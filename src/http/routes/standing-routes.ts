import { z } from 'zod'
import { newestActions } from '../../db/actions/record-action.ts'
import { batchSizes } from '../../db/ledger/batch-size.ts'
import { newestTasks } from '../../db/nights/night-facts.ts'
import { requireSchema } from '../../db/schema-standing.ts'
import { deniedKeyInUse, keyFacts, skewInUse } from '../../db/service-key/service-key.ts'
import { endedTasks, eventCounts, receiverStanding, refusalCounts } from '../../db/webhooks/webhook-records.ts'
import { nightlySync } from '../../jobs/known-jobs.ts'
import { keptDocuments, newestReferenceChanges } from '../../pipeline/reference/list-reference.ts'
import { untakenReference } from '../../pipeline/reference/store-reference-data.ts'
import { judgeFreshness, newestCarried } from '../../pipeline/report/standing.ts'
import { silenceWords } from '../../pipeline/webhook-score.ts'
import { Problem } from '../problem.ts'
import { Answer, cutAt, document, type HttpContext, limit, moment, more, Plain, type Route, route } from '../route.ts'

/** Tasks by which the health of webhooks is judged, and the days of which refusals are counted. */
const tasksJudged = 200
const refusalDays = 7

/** An examination takes connections of its own: one at a time. */
let examining = false

const count = z.number().int()

export const standingRoutes: readonly Route[] = [
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
      const judged = configured && receiver !== undefined ? await endedTasks(db, tasksJudged) : []
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
    id: 'listActions',
    method: 'GET',
    path: '/v1/actions',
    summary: 'What people did with verbs, over HTTP and in the console, newest first',
    access: 'read',
    query: z.strictObject({ limit }),
    answers: {
      200: z.object({
        actions: z.array(
          z.object({
            action_id: count,
            verb: z.string(),
            acted_by: z.string(),
            acted_at: moment,
            submission_id: count.nullable(),
            rows: count,
            result: z.string().nullable(),
          }),
        ),
        more,
      }),
    },
    handle: async ({ db }, { query }) => {
      const found = cutAt(await newestActions(db, query.limit + 1), query.limit)
      return { actions: found.rows, more: found.more }
    },
  }),
  route({
    id: 'listSettings',
    method: 'GET',
    path: '/v1/settings',
    summary: 'Every setting in force, with secrets hidden, and where its value comes from',
    access: 'read',
    answers: {
      200: z.object({
        settings: z.array(
          z.object({
            path: z.string(),
            value: z.string().describe('As JSON.'),
            from: z.enum(['flag', 'environment', 'file', 'default']),
            where: z.string().nullable(),
          }),
        ),
      }),
    },
    handle: ({ asks }) => ({ settings: asks.settings() }),
  }),
  route({
    id: 'diagnose',
    method: 'POST',
    path: '/v1/doctor',
    summary: 'What keeps a night from going well, and what to do, as `nightferry doctor --json`. Changes nothing',
    access: 'act',
    answers: {
      200: z.object({
        findings: z.array(
          z.object({
            id: z.string(),
            group: z.string(),
            subject: z.string().nullable(),
            level: z.enum(['ok', 'advice', 'warning', 'error']),
            what: z.string(),
            why: z.string().nullable(),
            todo: z.string().nullable(),
            made: z.boolean(),
          }),
        ),
        examined_at: moment,
      }),
    },
    handle: async ({ asks, deps }) => {
      if (examining)
        throw new Problem(409, 'doctor_under_way', 'An examination is under way; ask again when it has ended.')
      examining = true
      try {
        return { findings: await asks.diagnose(), examined_at: deps.now() }
      } finally {
        examining = false
      }
    },
  }),
]

const health = z.object({ ok: z.boolean(), why: z.string() })

/** Whether the process can do its work: its database answers and has the schema that this version works with. */
async function readiness({ db, stopping }: HttpContext): Promise<z.infer<typeof health>> {
  if (stopping.aborted) return { ok: false, why: 'The daemon is ending.' }
  try {
    await requireSchema(db)
    return { ok: true, why: 'The database answers, and has the schema of this version.' }
  } catch (error) {
    const { code } = error as { code?: unknown }
    // The words of the error may name hosts; the log and nightferry status say more.
    return { ok: false, why: `The database cannot be worked with: ${typeof code === 'string' ? code : 'unknown'}.` }
  }
}

export const healthRoutes: readonly Route[] = [
  route({
    id: 'live',
    method: 'GET',
    path: '/livez',
    summary: 'Whether the process is at work: restart it if this does not answer',
    access: 'open',
    answers: { 200: health },
    handle: () => ({ ok: true, why: 'The process answers.' }),
  }),
  route({
    id: 'ready',
    method: 'GET',
    path: '/readyz',
    summary: 'Whether the process can do its work, by its database',
    access: 'open',
    answers: { 200: health, 503: health },
    handle: async (context) => {
      const found = await readiness(context)
      return new Answer(found.ok ? 200 : 503, found)
    },
  }),
  route({
    id: 'fresh',
    method: 'GET',
    path: '/freshz',
    summary: 'Whether the data are as fresh as http.freshWithinMs promises',
    access: 'open',
    answers: {
      200: z.object({ fresh: z.boolean(), since: moment.nullable(), why: z.string() }),
      503: z.object({ fresh: z.boolean(), since: moment.nullable(), why: z.string() }),
    },
    handle: async ({ db, deps }) => {
      const carried = await newestCarried(db, nightlySync.name).catch(() => null)
      if (carried === null) return new Answer(503, { fresh: false, since: null, why: 'The database does not answer.' })
      const found = judgeFreshness(carried, deps.now(), deps.config.http.freshWithinMs)
      return new Answer(found.fresh ? 200 : 503, found)
    },
  }),
  route({
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics in the text format of Prometheus',
    access: 'metrics',
    answers: { 200: 'text/plain' },
    handle: async ({ metrics }) => new Plain(metrics.contentType, await metrics.text()),
  }),
]
