import { z } from 'zod'
import { showableConfig } from '../../config/show-config.ts'
import { newestNotifications, newestSearches } from '../../db/runs/newest-runs.ts'
import { nightlySync } from '../../jobs/known-jobs.ts'
import { planRun } from '../../pipeline/plan/plan-run.ts'
import { cachedDocuments, referenceVersions } from '../../pipeline/reference/list-reference.ts'
import { untakenReference } from '../../pipeline/reference/store-reference-data.ts'
import { searchKinds } from '../../pipeline/streams/kind-names.ts'
import { Problem } from '../problem.ts'
import { Answer, document, limit, moment, type Route, route } from '../route.ts'

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

export const serviceRoutes: readonly Route[] = [
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
    answers: { 200: z.object({ notifications: z.array(document) }) },
    handle: async ({ db }, { query }) => ({ notifications: await newestNotifications(db, query.limit) }),
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
      const { asked, plan } = desk.begin(deps.now(), () =>
        planRun(deps, { job: nightlySync.name, cached: true, bodies, rows }),
      )
      return wait ? await plan : asked
    },
  }),
]

const count = z.number().int()

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
