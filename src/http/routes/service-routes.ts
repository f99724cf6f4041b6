import { z } from 'zod'
import { showableConfig } from '../../config/show-config.ts'
import { newestNotifications } from '../../db/runs/newest-notifications.ts'
import { nightlySync } from '../../jobs/nightly-sync.ts'
import { planRun } from '../../pipeline/plan/plan-run.ts'
import { cachedDocuments, referenceVersions } from '../../pipeline/reference/list-reference.ts'
import { untakenReference } from '../../pipeline/reference/untaken-reference.ts'
import { PlanDesk } from '../plan-desk.ts'
import { document, limit, moment, type Route, route } from '../route.ts'

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
