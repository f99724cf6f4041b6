import { z } from 'zod'
import { carryingJobs, night } from '../../config/known-names.ts'
import { showableConfig } from '../../config/show-config.ts'
import { listActions } from '../../db/actions/list-actions.ts'
import { requireSchema } from '../../db/schema-standing.ts'
import { actionVerbs } from '../../db/tables/run-tables.ts'
import { given } from '../../given.ts'
import { findJob } from '../../jobs/trigger-run.ts'
import { planRun } from '../../pipeline/plan/plan-run.ts'
import { judgeFreshness, newestCarried } from '../../pipeline/report/standing.ts'
import { requireKnownHotel } from '../known-hotel.ts'
import { knownStream, Problem } from '../problem.ts'
import {
  Answer,
  count,
  cutAt,
  document,
  type HttpContext,
  limit,
  moment,
  more,
  Plain,
  type Route,
  route,
  wholeNumber,
} from '../route.ts'

/** An examination takes connections of its own: one at a time. */
let examining = false

/** A plan that is being made, or the last one that was; `made` null: it is being made. */
type Kept = { number: number; since: Date; made: { plan: unknown } | { error: unknown } | null }

/** A plan reads as much as a night does: one is made at a time, and the last is kept for those who asked. */
class PlanDesk {
  #kept: Kept | null = null
  #numbers = 0

  /**
   * Has a plan made.
   * @returns its number, and the plan once it is made.
   * @throws {Problem} 409 while another is being made.
   */
  begin(since: Date, make: () => Promise<unknown>): { asked: Answer; plan: Promise<unknown> } {
    if (this.#kept?.made === null) {
      throw new Problem(409, 'plan_under_way', 'A plan is being made; ask again when it is.')
    }
    const kept: Kept = { number: ++this.#numbers, since, made: null }
    this.#kept = kept
    const plan = make()
    plan.then(
      (given) => {
        kept.made = { plan: given }
      },
      (error: unknown) => {
        kept.made = { error }
      },
    )
    return { asked: answerOf(kept), plan }
  }

  /**
   * The plan of a number, or that it is still being made.
   * @throws {Problem} 404 when it is not kept any more. What kept it from being made is thrown as it was.
   */
  give(number: number): unknown {
    const kept = this.#kept
    if (kept?.number !== number) {
      throw new Problem(404, 'plan_unknown', `Plan ${number} is not kept any more; ask for another.`)
    }
    if (kept.made === null) return answerOf(kept)
    if ('error' in kept.made) throw kept.made.error
    return kept.made.plan
  }
}

const answerOf = ({ number, since }: Kept) => new Answer(202, { plan: number, planning_since: since })

const desk = new PlanDesk()

export const standingRoutes: readonly Route[] = [
  route({
    id: 'listActions',
    method: 'GET',
    path: '/v1/actions',
    summary: 'What people did with verbs, over HTTP and in the console, newest first',
    access: 'read',
    query: z.strictObject({
      limit,
      verb: z.enum(actionVerbs).optional(),
      submission: wholeNumber.optional().describe('Only what was done about this submission.'),
      run: wholeNumber.optional().describe('Only what was done about this run, or about one of its submissions.'),
      partnerId: z
        .string()
        .optional()
        .describe(
          'Only what was done about one hotel, its rows, or submissions that carried one. One of which nothing was ever read and about which nothing was done is answered 404, `hotel_unknown`.',
        ),
      stream: z.string().min(1).optional().describe('Only what was done about this stream.'),
      job: z.string().min(1).optional().describe('Only what was done about this job.'),
      since: z.iso.datetime({ offset: true }).optional().describe('Only what was done since this moment.'),
    }),
    answers: {
      200: z.object({
        actions: z.array(
          z.object({
            action_id: count,
            verb: z.string(),
            acted_by: z.string(),
            host: z.string(),
            acted_at: moment,
            submission_id: count.nullable(),
            correlation_id: z.string().nullable(),
            rows: count,
            asked: z.record(z.string(), z.string()),
            result: z.string().nullable(),
          }),
        ),
        more,
      }),
    },
    handle: async ({ db, deps }, { query: { limit: most, submission, run, stream, since, ...rest } }) => {
      const filter = given({
        ...rest,
        submissionId: submission,
        runId: run,
        stream: stream === undefined ? undefined : knownStream(deps.config, stream),
        since: since === undefined ? undefined : new Date(since),
      })
      const found = cutAt(await listActions(db, filter, most + 1), most)
      if (found.rows.length === 0) await requireKnownHotel(db, rest.partnerId)
      return { actions: found.rows, more: found.more }
    },
  }),
  route({
    id: 'getConfiguration',
    method: 'GET',
    path: '/v1/configuration',
    summary: 'The configuration in force, with secrets hidden',
    access: 'read',
    answers: { 200: document },
    handle: ({ deps }) => showableConfig(deps.config),
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
    id: 'plan',
    method: 'POST',
    path: '/v1/plan',
    summary: 'What a run would send now, and why; sends nothing. It reads the partner’s database as a run does',
    access: 'act',
    body: z.strictObject({
      rows: z.number().int().min(0).max(1_000).default(20).describe('Rows of each list.'),
      bodies: z.number().int().min(0).max(10).default(0).describe('Bodies of requests.'),
      wait: z
        .boolean()
        .default(true)
        .describe('false: answer 202 with the number of the plan, while it is being made.'),
      plan: z.number().int().min(1).optional().describe('Give the plan of this number, or 202 while it is being made.'),
    }),
    answers: { 200: document, 202: z.object({ plan: z.number().int(), planning_since: moment }) },
    handle: async ({ deps }, { body: { rows, bodies, wait, plan: number } }) => {
      if (number !== undefined) return desk.give(number)
      findJob(deps, night)
      const { asked, plan } = desk.begin(deps.now(), () => planRun(deps, { job: night, cached: true, bodies, rows }))
      return wait ? await plan : asked
    },
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
      const carried = await newestCarried(db, carryingJobs(deps.config)).catch(() => null)
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
