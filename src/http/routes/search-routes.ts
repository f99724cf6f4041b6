import { z } from 'zod'
import { newestSearches } from '../../db/runs/newest-searches.ts'
import { searchKinds } from '../../pipeline/streams/kind-names.ts'
import { moment, type Route, route } from '../route.ts'

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
